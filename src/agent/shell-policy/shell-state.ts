/** Defines the state of a shell during the walk, and joins states of alternative branches. */

import type { CompoundCommand, Command, CompoundList, ParsedScript, Redirected } from 'unbash'
import { anyText, type Field } from './field.ts'

export type HostContext = {
  readonly cwd: string
  readonly workspace: string
  readonly env?: Readonly<Record<string, string>>
  /** The host is disposable and has no secrets. Without a network, code of the project may run without approval. */
  readonly isSandboxed: boolean
  /** Programs reach other hosts. Absent: a sandbox has no network. */
  readonly isOnline?: boolean
}

/** The possible values of a variable. */
export type Value = { readonly candidates: readonly Field[]; readonly list?: readonly Field[] }

export type Body = Command | CompoundCommand | Redirected | CompoundList
export type FunctionDefinition = { readonly bodies: readonly Body[]; readonly isCertain: boolean }

/** The possible texts in a pipe. */
export type Stream = readonly string[] | 'unknown'
/** `none`: there is no pipe. */
export type Stdin = Stream | 'none'

export type Shell = {
  readonly vars: Map<string, Value>
  readonly functions: Map<string, FunctionDefinition>
  readonly aliases: Map<string, string>
  /** Files that this command line has written, by path. */
  readonly files: Map<string, Stream>
  cwd: readonly Field[]
  /** The directory after the last `cd`, if it succeeded. */
  cwdAfterCd: readonly Field[] | undefined
  positional: readonly Field[] | undefined
}

export type Finding = { readonly level: 'ask' | 'hardline'; readonly reason: string; readonly rule: string | undefined }

export type Judge = {
  readonly host: HostContext
  readonly findings: Finding[]
  readonly programs: Set<string>
  /** All commands with expanded words: wrappers, and the commands that they start. */
  readonly commands: Set<string>
  /** Each node costs a step. Below zero the verdict is `ask`. */
  remainingSteps: number
  depth: number
  /** Above zero inside a container or on another host, where no finding is hardline. */
  containerDepth: number
  /** Output of decoders. Running such a text always needs approval. */
  readonly decodedTexts: Set<string>
  readonly judgeList: (list: ParsedScript | CompoundList, shell: Shell, stdin: Stdin) => Stream
  readonly judgeBody: (body: Body, shell: Shell, stdin: Stdin) => Stream
  readonly judgeScript: (text: string, shell: Shell, stdin: Stdin) => Stream
  readonly judgeCall: (argv: readonly Field[], shell: Shell, stdin: Stdin) => Stream
}

/** One program with its arguments, as a policy gets it. */
export type Call = {
  readonly name: string
  readonly args: readonly Field[]
  readonly shell: Shell
  readonly stdin: Stdin
  readonly judge: Judge
  /** Adds a reason for approval. `rule: null`: no rule may cover it. */
  readonly ask: (reason: string, rule?: string | null) => void
  readonly refuse: (reason: string) => void
}

/** Judges a call and returns its output, when that is known. */
export type Policy = (call: Call) => Stream | undefined

export const maxCandidates = 24

export const cloneShell = (shell: Shell): Shell => ({
  ...shell,
  vars: new Map(shell.vars),
  functions: new Map(shell.functions),
  aliases: new Map(shell.aliases),
  files: new Map(shell.files),
})

export const union = <T>(a: readonly T[], b: readonly T[]): readonly T[] => [...new Set([...a, ...b])]

const limitCandidates = (candidates: readonly Field[]): readonly Field[] =>
  candidates.length > maxCandidates ? [anyText] : candidates

function joinValues(a: Value, b: Value): Value {
  const list = a.list && b.list && a.list.join('\0') === b.list.join('\0') ? a.list : undefined
  const candidates = limitCandidates(union(a.candidates, b.candidates))
  return list ? { candidates, list } : { candidates: a.list || b.list ? union(candidates, [anyText]) : candidates }
}

/**
 * Joins the state of another branch into `shell`. `before` returns the value of a variable that only one branch sets.
 */
export function joinShells(shell: Shell, other: Shell, before: (name: string) => Value): void {
  for (const [name, value] of other.vars) {
    const current = shell.vars.get(name)
    if (current !== value) shell.vars.set(name, joinValues(current ?? before(name), value))
  }
  for (const [name, current] of shell.vars)
    if (!other.vars.has(name)) shell.vars.set(name, joinValues(current, before(name)))
  for (const [name, definition] of other.functions) {
    const current = shell.functions.get(name)
    if (current !== definition)
      shell.functions.set(name, {
        bodies: union(current?.bodies ?? [], definition.bodies),
        isCertain: current !== undefined,
      })
  }
  for (const [name, text] of other.aliases) shell.aliases.set(name, text)
  joinFiles(shell, other)
  shell.cwd = limitCandidates(union(shell.cwd, other.cwd))
  shell.cwdAfterCd = undefined
}

export function joinFiles(shell: Shell, other: Shell): void {
  for (const [path, content] of other.files) {
    const current = shell.files.get(path)
    if (current === content) continue
    const merged = current === 'unknown' || content === 'unknown' ? 'unknown' : union(current ?? [], content)
    shell.files.set(path, merged.length > maxCandidates ? 'unknown' : merged)
  }
}

/** Concatenates the possible texts of two streams. */
export function concatStreams(a: Stream, b: Stream): Stream {
  if (a === 'unknown' || b === 'unknown') return 'unknown'
  if (a.length * b.length > maxCandidates) return 'unknown'
  const all = a.flatMap((first) => b.map((second) => first + second))
  return all.some(({ length }) => length > 40_000) ? 'unknown' : all
}

const maxReasonChars = 300

export const addFinding = (judge: Judge, level: Finding['level'], reason: string, rule?: string): void => {
  const shortened = reason.length > maxReasonChars ? `${reason.slice(0, maxReasonChars)}…` : reason
  const effectiveLevel = level === 'hardline' && judge.containerDepth > 0 ? 'ask' : level
  if (judge.findings.length < 200) judge.findings.push({ level: effectiveLevel, reason: shortened, rule })
  else if (effectiveLevel === 'hardline') judge.findings[0] = { level: effectiveLevel, reason: shortened, rule }
}
