/** Makes xargs and paste accept attached option values (`-n1`), which just-bash only accepts separately (`-n 1`). */

import { type Command, command, originalCommand, parse } from './io.ts'

/** `ends`: the first operand starts another command, whose options stay unchanged. */
function detachValues(args: readonly string[], valued: string, ends: boolean): string[] {
  const out: string[] = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    if (arg === '--' || (ends && !arg.startsWith('-'))) return [...out, ...args.slice(i)]
    if (arg.startsWith('--') || !arg.startsWith('-') || arg === '-') {
      out.push(arg)
      continue
    }
    const cut = [...arg].findIndex((letter, at) => at > 0 && valued.includes(letter))
    if (cut < 0) {
      out.push(...toFlags(arg.slice(1)))
      continue
    }
    const value = arg.slice(cut + 1) || args[++i]
    out.push(...toFlags(arg.slice(1, cut + 1)), ...(value === undefined ? [] : [value]))
  }
  return out
}

const toFlags = (text: string): string[] => [...text].map((letter) => `-${letter}`)

/** xargs exits with 123 when a command failed. */
const xargs = command('xargs', async (args, context) => {
  const apart = detachValues(args, 'nIPLsdE', true)
  // With -I each line is one item, and blanks are part of it.
  const isByLine = apart.includes('-I') && !apart.includes('-d') && !apart.includes('-0') && !apart.includes('--null')
  const ready = isByLine ? ['-d', '\\n', ...apart] : apart
  const result = await originalCommand(context)(ready)
  return result.exitCode > 0 && result.exitCode < 123 ? { ...result, exitCode: 123 } : result
})

const paste = command('paste', async (args, context) => {
  const apart = detachValues(args, 'd', false)
  const operands = parse(args, 'd').rest
  // Without a file just-bash needs `-` to read standard input.
  return originalCommand(context)(operands.length === 0 ? [...apart, '-'] : apart)
})

export const detachedOptionCommands: readonly Command[] = [xargs, paste]
