/** Parses the arguments of a git subcommand into flags, values and operands. */

import { type GitCall, getCommit, fatal } from './repository.ts'

export type Arguments = {
  /** Letters and long names, without dashes. */
  readonly flag: (...names: string[]) => boolean
  readonly value: (...names: string[]) => string | undefined
  readonly values: (...names: string[]) => readonly string[]
  /** `-n 3`, `-3`, `--max-count=3`. */
  readonly count: () => number
  /** Before and after `--`. */
  readonly rest: readonly string[]
  readonly after: readonly string[] | undefined
  readonly revisionsAndPaths: (call: GitCall) => Promise<readonly [string[], string[]]>
}

/** Long options that take the next argument as value when they have no `=`. */
const valuedOptions = new Set([
  'message',
  'format',
  'pretty',
  'date',
  'author',
  'grep',
  'skip',
  'max-count',
  'source',
  'branch',
  'depth',
  'file',
  'unified',
  'initial-branch',
])

type ParsedArguments = {
  readonly flags: Set<string>
  readonly values: Map<string, string[]>
  readonly rest: string[]
  after?: string[]
}

function add({ values }: ParsedArguments, name: string, value: string): void {
  values.set(name, [...(values.get(name) ?? []), value])
}

function parseLetters(read: ParsedArguments, letters: string, valued: string, next: () => string): void {
  for (let i = 0; i < letters.length; i++) {
    const letter = letters[i] ?? ''
    if (!valued.includes(letter)) {
      read.flags.add(letter)
      continue
    }
    add(read, letter, letters.slice(i + 1) || next())
    return
  }
}

/** `valued`: short options whose value is attached or follows. */
export function parseArguments(args: readonly string[], valued: string): Arguments {
  const read: ParsedArguments = { flags: new Set(), values: new Map(), rest: [] }
  const queue = [...args]
  const next = (): string => queue.shift() ?? ''
  while (queue.length > 0) {
    const arg = next()
    const [, name, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? []
    if (arg === '--') read.after = queue.splice(0)
    else if (name !== undefined && (inline !== undefined || valuedOptions.has(name))) add(read, name, inline ?? next())
    else if (name !== undefined) read.flags.add(name)
    else if (/^-\d+$/.test(arg)) add(read, 'n', arg.slice(1))
    else if (arg.startsWith('-') && arg.length > 1) parseLetters(read, arg.slice(1), valued, next)
    else read.rest.push(arg)
  }
  return asArguments(read)
}

function asArguments({ flags, values, rest, after }: ParsedArguments): Arguments {
  const all = (...names: string[]): string[] => names.flatMap((name) => values.get(name) ?? [])
  return {
    flag: (...names) => names.some((name) => flags.has(name)),
    value: (...names) => all(...names).at(-1),
    values: all,
    count: () => Number(all('n', 'max-count').at(-1) ?? Number.POSITIVE_INFINITY),
    rest,
    after,
    revisionsAndPaths: (call) => splitRevisionsAndPaths(call, rest, after),
  }
}

/** Without `--`, operands are revisions up to the first that names none; the others are paths. */
async function splitRevisionsAndPaths(
  call: GitCall,
  rest: readonly string[],
  after?: readonly string[],
): Promise<readonly [string[], string[]]> {
  if (after) return [[...rest], [...after]]
  const isRevision = async (word: string): Promise<boolean> => {
    for (const part of word.split(/\.{2,3}/)) {
      const found = part === '' || (await getCommit(call.repository, part).catch(() => undefined))
      if (found === undefined) return false
    }
    return true
  }
  const revisions: string[] = []
  for (const [i, word] of rest.entries()) {
    if (await isRevision(word)) {
      revisions.push(word)
      continue
    }
    const path = call.context.fs.resolvePath(call.context.cwd, word)
    if (!(await call.context.fs.exists(path)) && !word.includes('*'))
      throw fatal(`ambiguous argument '${word}': unknown revision or path not in the working tree.`)
    return [revisions, rest.slice(i)]
  }
  return [revisions, []]
}
