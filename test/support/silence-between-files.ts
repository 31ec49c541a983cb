/**
 * Objects that a test file has left running may log after it. No test is shown with that, and vitest reports an error when it
 * ends while such a line is on its way.
 */

const methods = ['debug', 'info', 'log', 'warn', 'error'] as const
type Methods = Pick<Console, (typeof methods)[number]>

const loud = Object.fromEntries(methods.map((name) => [name, console[name]])) as unknown as Methods

export const loudConsole = (): void => void Object.assign(console, loud)

export function silenceConsole(): void {
  for (const name of methods) console[name] = () => undefined
}
