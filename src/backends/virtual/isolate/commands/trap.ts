/** Implements `trap … EXIT`: stores the handler, which runs with the final state of the script. There are no signals. */

import { type Command, command, textResult } from './io.ts'

export type ExitTrap = { readonly command: Command; readonly handler: () => string }

export function exitTrap(): ExitTrap {
  let handler = ''
  const trap = command('trap', async (args) => {
    const [action = '', ...signals] = args.filter((arg) => arg !== '--')
    if (signals.some((signal) => /^(EXIT|0)$/.test(signal))) handler = action === '-' ? '' : action
    return textResult('')
  })
  return { command: trap, handler: () => handler }
}
