/** What is known of the shell while a command is walked through, and what its judges share. Types and plain state only. */

import type { CompoundCommand, Command, CompoundList, ParsedScript, Redirected } from 'unbash'
import { ANY, type Field } from './marks.ts'

export type Around = {
  readonly cwd: string
  readonly workspace: string
  readonly env?: Readonly<Record<string, string>>
  /** The machine is disposable and has no secrets: code of the project may run unasked, unless it could send. */
  readonly sandboxed: boolean
  /** What runs there reaches other machines. Absent: it does not, where it is sandboxed. */
  readonly online?: boolean
}

/** What a variable may hold. More than one candidate: it depends on how the script runs. */
export type Value = { readonly candidates: readonly Field[]; readonly list?: readonly Field[] }

export type Body = Command | CompoundCommand | Redirected | CompoundList
export type Definition = { readonly bodies: readonly Body[]; readonly certain: boolean }

/** What is written to or read from a pipe: every text that is possible, or nothing we know of. */
export type Stream = readonly string[] | 'unknown'
/** `none`: nothing is piped in. */
export type Stdin = Stream | 'none'

export type Shell = {
  readonly vars: Map<string, Value>
  readonly functions: Map<string, Definition>
  readonly aliases: Map<string, string>
  /** Files that this command has written itself, by path; undefined = with something unknown. */
  readonly files: Map<string, Stream>
  cwd: readonly Field[]
  /** Where the last `cd` went if it went well. */
  moved: readonly Field[] | undefined
  positional: readonly Field[] | undefined
}

export type Finding = { readonly level: 'ask' | 'hardline'; readonly reason: string; readonly rule: string | undefined }

export type Judge = {
  readonly around: Around
  readonly findings: Finding[]
  readonly programs: Set<string>
  /** Each with its words as bash would see them, wrappers and what they start both. */
  readonly commands: Set<string>
  /** Everything walked costs a step; at the end of them the answer is `ask`. */
  steps: number
  depth: number
  /** Above zero: in a container or on another machine, where nothing is hardline. */
  contained: number
  /** Texts that came out of a decoder. */
  readonly decoded: Set<string>
  readonly list: (script: ParsedScript | CompoundList, shell: Shell, stdin: Stdin) => Stream
  readonly body: (body: Body, shell: Shell, stdin: Stdin) => Stream
  readonly script: (text: string, shell: Shell, stdin: Stdin) => Stream
  readonly run: (argv: readonly Field[], shell: Shell, stdin: Stdin) => Stream
}

/** One program with its words, as a policy sees it. */
export type Call = {
  readonly name: string
  readonly args: readonly Field[]
  readonly shell: Shell
  readonly stdin: Stdin
  readonly judge: Judge
  /** One more thing to ask a person about. */
  readonly ask: (reason: string, rule?: string | null) => void
  readonly never: (reason: string) => void
}

/** Judges a call by asking about it, or not. What it prints, when that is known. */
export type Policy = (call: Call) => Stream | undefined

export const MAX_CANDIDATES = 24

export const clone = (shell: Shell): Shell => ({
  ...shell,
  vars: new Map(shell.vars),
  functions: new Map(shell.functions),
  aliases: new Map(shell.aliases),
  files: new Map(shell.files),
})

export const union = <T>(a: readonly T[], b: readonly T[]): readonly T[] => [...new Set([...a, ...b])]

const narrow = (candidates: readonly Field[]): readonly Field[] =>
  candidates.length > MAX_CANDIDATES ? [ANY] : candidates

function joined(a: Value, b: Value): Value {
  const list = a.list && b.list && a.list.join('\0') === b.list.join('\0') ? a.list : undefined
  const candidates = narrow(union(a.candidates, b.candidates))
  return list ? { candidates, list } : { candidates: a.list || b.list ? union(candidates, [ANY]) : candidates }
}

/** `shell` becomes what it is after either road was taken. `before` tells what a variable is that one road does not set. */
export function join(shell: Shell, other: Shell, before: (name: string) => Value): void {
  for (const [name, value] of other.vars) {
    const mine = shell.vars.get(name)
    if (mine !== value) shell.vars.set(name, joined(mine ?? before(name), value))
  }
  for (const [name, mine] of shell.vars) if (!other.vars.has(name)) shell.vars.set(name, joined(mine, before(name)))
  for (const [name, theirs] of other.functions) {
    const mine = shell.functions.get(name)
    if (mine !== theirs)
      shell.functions.set(name, { bodies: union(mine?.bodies ?? [], theirs.bodies), certain: mine !== undefined })
  }
  for (const [name, text] of other.aliases) shell.aliases.set(name, text)
  joinFiles(shell, other)
  shell.cwd = narrow(union(shell.cwd, other.cwd))
  shell.moved = undefined
}

export function joinFiles(shell: Shell, other: Shell): void {
  for (const [path, theirs] of other.files) {
    const mine = shell.files.get(path)
    if (mine === theirs) continue
    const either = mine === 'unknown' || theirs === 'unknown' ? 'unknown' : union(mine ?? [], theirs)
    shell.files.set(path, either.length > MAX_CANDIDATES ? 'unknown' : either)
  }
}

/** Texts one after the other. */
export function concat(a: Stream, b: Stream): Stream {
  if (a === 'unknown' || b === 'unknown') return 'unknown'
  if (a.length * b.length > MAX_CANDIDATES) return 'unknown'
  const all = a.flatMap((first) => b.map((second) => first + second))
  return all.some(({ length }) => length > 40_000) ? 'unknown' : all
}

const MAX_REASON = 300

export const finding = (judge: Judge, level: Finding['level'], reason: string, rule?: string): void => {
  const said = reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason
  const held = level === 'hardline' && judge.contained > 0 ? 'ask' : level
  if (judge.findings.length < 200) judge.findings.push({ level: held, reason: said, rule })
  else if (held === 'hardline') judge.findings[0] = { level: held, reason: said, rule }
}
