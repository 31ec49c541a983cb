/** Defines the state of a walk: what is found, what the shell knows, and how branches are joined. */

import type { Command, CompoundCommand, CompoundList, ParsedScript, Redirected, WordPart } from 'unbash'
import type { HostContext } from '#agent/core/permission/shell-policy.ts'
import { anyText, type Field } from '#agent/path-policy/field.ts'

/** The possible values of a variable. */
export type ShellValue = { readonly candidates: readonly Field[]; readonly list?: readonly Field[] }
export type Body = Command | CompoundCommand | Redirected | CompoundList

/** The text that a command prints, or undefined when it is not known. */
export type CommandOutput = Field | undefined

export type JudgedShell = {
  vars: Map<string, ShellValue>
  readonly functions: Map<string, Body>
  readonly aliases: Map<string, string>
  cwd: readonly Field[]
  /** The directory after the last `cd`, if it succeeded. */
  cwdAfterCd: readonly Field[] | undefined
}

export type CommandFinding = {
  readonly level: 'ask' | 'hardline'
  readonly reason: string
  readonly rule: string | undefined
}

export type Judge = {
  readonly host: HostContext
  findings: CommandFinding[]
  readonly programs: Set<string>
  /** All commands with expanded words: wrappers, and the commands that they start. */
  readonly commands: Set<string>
  /** Texts of the line that code could be made of. They are searched for hardline commands when code is not known. */
  readonly literals: Set<string>
  /** Changes that programs of the line make to texts: `tr`, `sed`. */
  readonly transforms: Map<string, (text: string) => string | undefined>
  /** Whether the line runs code that is not known in full. */
  hasUnknownCode: boolean
  /** Paths that the line writes, with their content where it is known. */
  readonly written: Map<string, CommandOutput>
  /** Whether wildcards or recursion read files that the line does not name. */
  readsMany: boolean
  /** Files arrive whose names are not on the line: archives, clones, downloads. */
  arrivals: 'none' | 'files' | 'downloads'
  /** Whether the line may leave the machine: by a program of the network, or by code that may use it. */
  leaves: boolean
  /** Whether the line brings what others have written: downloads, clones, answers of hosts. */
  fetches: boolean
  /** Whether the line runs code of the project. */
  runsProject: boolean
  /** Whether a part was not read: it cannot be parsed, or the line is too large. */
  isUnread: boolean
  /** Whether code runs that only the run knows, so that nobody can read it before. */
  hasHiddenCode: boolean
  /** Links that exist or that the line has made, with their targets. */
  readonly links: Map<string, string>
  /** Directories into which the line unpacks or clones. What is in them may be a link. */
  readonly unpacked: Field[]
  /** The secrets that each listing of names can contain. */
  readonly listings: (readonly string[])[]
  /** Copies and links of programs that the line has made, with the names of the programs. */
  readonly renamed: Map<string, string>
  /** Whether a text or a change was left out of the search for hardline commands. */
  hasLostText: boolean
  /** Each node costs a step. Below zero the verdict is `ask`. */
  remainingSteps: number
  /** Guesses of what may run: programs in loose words, literals in place of unknown arguments. */
  remainingGuesses: number
  depth: number
  /** Above zero where a finding is never hardline: inside a container. */
  containerDepth: number
  readonly walkScript: (scope: JudgeScope, script: ParsedScript | CompoundList, stdin: CommandOutput) => CommandOutput
  readonly walkText: (scope: JudgeScope, text: string, stdin?: CommandOutput) => CommandOutput
  readonly walkBody: (scope: JudgeScope, body: Body, stdin: CommandOutput) => CommandOutput
  readonly judgeVector: (scope: JudgeScope, argv: readonly Field[], stdin: CommandOutput) => CommandOutput
}

/** `captured`: the output goes to a pipe, a file or a variable. */
export type JudgeScope = { readonly judge: Judge; readonly shell: JudgedShell; readonly captured: boolean }

/** A program with its arguments, as a check gets it. */
export type SimpleCommand = JudgeScope & {
  readonly name: string
  readonly args: readonly Field[]
  readonly stdin: CommandOutput
  readonly ask: (reason: string, rule?: string | null) => void
  readonly refuse: (reason: string) => void
}

export type WordParts = readonly WordPart[]
export const maxCandidates = 24
const maxReasonChars = 300
const maxFindings = 200

export const union = <T>(a: readonly T[], b: readonly T[]): readonly T[] => [...new Set([...a, ...b])]

export function addFinding(judge: Judge, level: CommandFinding['level'], reason: string, rule?: string): void {
  const shortened = reason.length > maxReasonChars ? `${reason.slice(0, maxReasonChars)}…` : reason
  const finding = { level: level === 'hardline' && judge.containerDepth > 0 ? 'ask' : level, reason: shortened, rule }
  if (judge.findings.length < maxFindings) judge.findings.push(finding as CommandFinding)
  else if (finding.level === 'hardline') judge.findings[0] = finding as CommandFinding
}

/** Code runs that the line does not show in full, so every literal of the line may be a part of it. */
export function addUnknownCode(judge: Judge, reason: string): void {
  addFinding(judge, 'ask', reason)
  judge.hasUnknownCode = true
  judge.leaves = true
}

/** Code runs that is known to nobody before. Only a person may allow it. */
export function addHiddenCode(judge: Judge, reason: string): void {
  addUnknownCode(judge, reason)
  judge.hasHiddenCode = true
}

const maxTransforms = 8
export function addTransform(judge: Judge, command: string, transform: (text: string) => CommandOutput): void {
  if (judge.transforms.size < maxTransforms) judge.transforms.set(command, transform)
  else judge.hasLostText = true
}

const maxLiterals = 100
const maxLiteralChars = 20_000
export function addLiteral(judge: Judge, text: Field): void {
  if (text.length === 0) return
  if (text.length <= maxLiteralChars && judge.literals.size < maxLiterals) judge.literals.add(text)
  else judge.hasLostText = true
}

const limit = (candidates: readonly Field[]): readonly Field[] =>
  candidates.length > maxCandidates ? [anyText] : candidates

function joinValues(a: ShellValue, b: ShellValue): ShellValue {
  const list = a.list && b.list && a.list.join('\0') === b.list.join('\0') ? a.list : undefined
  const candidates = limit(union(a.candidates, b.candidates))
  return list ? { candidates, list } : { candidates: a.list || b.list ? union(candidates, [anyText]) : candidates }
}

type ShellSnapshot = { readonly vars: Map<string, ShellValue>; readonly cwd: readonly Field[] }

/**
 * Walks alternative branches, each from the same state, and joins their results. `canSkip`: possibly none of them runs.
 */
export function walkAlternatives(scope: JudgeScope, branches: readonly (() => unknown)[], canSkip: boolean): void {
  const { shell, judge } = scope
  const before: ShellSnapshot = { vars: shell.vars, cwd: shell.cwd }
  const results: ShellSnapshot[] = canSkip ? [before] : []
  for (const branch of branches) {
    if (judge.remainingSteps < 0) break
    judge.remainingSteps -= before.vars.size >> 2
    shell.vars = new Map(before.vars)
    shell.cwd = before.cwd
    branch()
    results.push({ vars: shell.vars, cwd: shell.cwd })
  }
  if (branches.length > 1) shell.cwdAfterCd = undefined
  const joined = results.reduce((a, b) => {
    judge.remainingSteps -= (a.vars.size + b.vars.size) >> 6
    return judge.remainingSteps < 0 ? b : joinSnapshots(a, b, judge.host)
  }, results[0] ?? before)
  shell.vars = joined.vars
  shell.cwd = joined.cwd
}

function joinSnapshots(a: ShellSnapshot, b: ShellSnapshot, { env }: HostContext): ShellSnapshot {
  if (a === b) return a
  const vars = new Map(a.vars)
  const unset = (name: string): ShellValue => ({ candidates: [env?.[name] ?? ''] })
  for (const [name, value] of b.vars)
    if (vars.get(name) !== value) vars.set(name, joinValues(a.vars.get(name) ?? unset(name), value))
  for (const [name, value] of a.vars) if (!b.vars.has(name)) vars.set(name, joinValues(value, unset(name)))
  return { vars, cwd: limit(union(a.cwd, b.cwd)) }
}
