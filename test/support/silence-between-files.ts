/**
 * Objects that a test file has left running may log after it. No test is shown with that, and vitest reports an error when it
 * ends while such a line is on its way.
 */

import { afterAll, beforeAll } from 'vitest'

const methods = ['debug', 'info', 'log', 'warn', 'error'] as const
type Methods = Pick<Console, (typeof methods)[number]>

const kept = Symbol.for('talaria.console')
const keeper = console as Console & { [kept]?: Methods }
const loud = (keeper[kept] ??= Object.fromEntries(methods.map((name) => [name, console[name]])) as unknown as Methods)

beforeAll(() => void Object.assign(console, loud))
afterAll(() => {
  for (const name of methods) console[name] = () => undefined
})
