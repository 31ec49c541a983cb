/** Reads the arguments and inputs of commands, and creates their results. */

import type { Command, defineCommand, ExecResult, ResolvedCommandContext } from 'just-bash/browser'

export type CommandContext = ResolvedCommandContext
export type { Command, ExecResult }

/**
 * Does what `defineCommand` of just-bash does. git is loaded on use and needs this: with a value of just-bash here, the bundle
 * would evaluate all of just-bash inside a function, which each new isolate would read twice.
 */
export const command: typeof defineCommand = (name, execute, { trusted = true } = {}) => ({ name, trusted, execute })

export const textResult = (stdout: string, exitCode = 0, stderr = ''): ExecResult => ({
  stdout,
  stderr,
  exitCode,
  stdoutKind: 'text',
})

export const errorResult = (name: string, message: string, exitCode = 1): ExecResult => ({
  stdout: '',
  stderr: `${name}: ${message}\n`,
  exitCode,
})

/** Returns the command of just-bash that ours replaces. */
export function originalCommand({ origCommand }: CommandContext): (args: string[]) => Promise<ExecResult> {
  if (!origCommand) throw new Error('there is no built-in command of this name')
  return origCommand
}

/** Decodes standard input, which has one character per byte. */
export const stdinBytes = ({ stdin }: CommandContext): Uint8Array =>
  new Uint8Array(Buffer.from(String(stdin), 'latin1'))

export const pathIn = (context: CommandContext, path: string): string => context.fs.resolvePath(context.cwd, path)

export const readBytes = (context: CommandContext, path: string): Promise<Uint8Array> =>
  path === '-' ? Promise.resolve(stdinBytes(context)) : context.fs.readFileBuffer(pathIn(context, path))

export const readText = async (context: CommandContext, path: string): Promise<string> =>
  new TextDecoder().decode(await readBytes(context, path))

/** Whether the inputs have more lines than a command may process without yielding. */
export async function isLongerThan(
  maxLines: number,
  names: readonly string[],
  context: CommandContext,
): Promise<boolean> {
  let lines = 0
  for (const name of names.length > 0 ? names : ['-']) {
    if (name !== '-' && !(await context.fs.exists(pathIn(context, name)))) continue
    for (const byte of await readBytes(context, name)) lines += Number(byte === 10)
  }
  return lines > maxLines
}

export const withoutErrno = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/^E[A-Z]+: /, '').replace(/, \w+ '.*'$/s, '')

export const quote = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`

/** Parsed options: flags, and values of the letters in `valued`, which are attached or follow. */
export type GivenOptions = { readonly flags: ReadonlySet<string>; readonly values: ReadonlyMap<string, string> }
export type Parsed = GivenOptions & { readonly rest: readonly string[] }

export function parse(args: readonly string[], valued: string): Parsed {
  const flags = new Set<string>()
  const values = new Map<string, string>()
  const rest: string[] = []
  const queue = [...args]
  while (queue.length > 0) {
    const arg = queue.shift() ?? ''
    if (arg === '--') {
      rest.push(...queue)
      break
    }
    if (arg.startsWith('--')) parseLong(arg, flags, values)
    else if (arg.length < 2 || !arg.startsWith('-')) rest.push(arg)
    else parseShort(arg, valued, queue, { flags, values })
  }
  return { flags, values, rest }
}

function parseLong(arg: string, flags: Set<string>, values: Map<string, string>): void {
  const [name = '', ...value] = arg.slice(2).split('=')
  if (value.length > 0) values.set(name, value.join('='))
  else flags.add(name)
}

type ParsedOptions = { readonly flags: Set<string>; readonly values: Map<string, string> }

function parseShort(arg: string, valued: string, queue: string[], { flags, values }: ParsedOptions): void {
  for (let i = 1; i < arg.length; i++) {
    const letter = arg[i] ?? ''
    if (!valued.includes(letter)) {
      flags.add(letter)
      continue
    }
    values.set(letter, arg.slice(i + 1) || (queue.shift() ?? ''))
    return
  }
}
