/**
 * Judges whether a command line may run without approval. The syntax tree yields argument vectors, an allow-list names
 * the harmless ones, and everything else needs approval. Literals of a line whose code is not known in full are searched
 * for what never runs.
 */

import { parse, type ParsedScript } from 'unbash'
import type { CommandVerdict, HostContext } from '#agent/core/permission/shell-policy.ts'
import { fixedPrograms } from './allow-list/programs.ts'
import { judgeVector } from './judge-vector.ts'
import { findOpaqueHardline, scanLiterals } from './scan-literals.ts'
import { addFinding, type Judge, type JudgedShell, type JudgeScope } from './shell-state.ts'
import { walkNode, walkStatements } from './walk-tree.ts'

const maxSteps = 800
const maxScanSteps = 250
const maxGuesses = 120
const maxScriptChars = 40_000
const maxReasons = 8
const maxNestedScripts = 16

export function judgeCommand(command: string, host: HostContext): CommandVerdict {
  const judge = judgeOn(command, host)
  const verdict = createVerdict(judge)
  return asksForNetwork(command, judge, verdict) ? { ...verdict, asksForNetwork: true } : verdict
}

/** Code that the same line has fetched is foreign before anybody could know it. */
function asksForNetwork(command: string, judge: Judge, { verdict, isUnjudged }: CommandVerdict): boolean {
  const { host, fetches, runsProject } = judge
  if (verdict !== 'ask' || isUnjudged || !host.isSandboxed || !host.isOnline || (fetches && runsProject)) return false
  return createVerdict(judgeOn(command, { ...host, isOnline: false })).verdict === 'allow'
}

function judgeOn(command: string, host: HostContext): Judge {
  const judge = createJudge(host)
  const shell: JudgedShell = {
    vars: new Map(),
    functions: new Map(),
    aliases: new Map(),
    cwd: [host.cwd],
    cwdAfterCd: undefined,
  }
  const scope: JudgeScope = { judge, shell, captured: false }
  const problem = screenCommand(command)
  try {
    if (problem === undefined) judgeLine(scope, command)
    else judgeUnreadable(scope, command, problem)
  } catch (error) {
    // The stack overflowed.
    if (!(error instanceof RangeError)) throw error
    judgeUnreadable(scope, command, 'The command is nested too deeply to judge')
  }
  return judge
}

function judgeLine(scope: JudgeScope, command: string): void {
  const { judge } = scope
  judge.walkText(scope, command)
  if (judge.remainingSteps < 0) judgeUnreadable(scope, command, 'The command does too much to judge all of it.')
  if (judge.hasUnknownCode) {
    judge.remainingSteps = Math.max(judge.remainingSteps, 0) + maxScanSteps
    scanLiterals(scope)
  }
  if (!judge.host.isSandboxed) judgeOnSharedHost(judge, command)
}

/** A text that cannot be parsed in time is searched for hardline commands as it stands. */
function judgeUnreadable({ judge }: JudgeScope, command: string, reason: string): void {
  judge.isUnread = true
  addFinding(judge, 'ask', reason)
  const plain = command.slice(0, 200_000).replace(/\\\n|\r|[^\t\n -~]/g, '')
  const found = findOpaqueHardline(plain, { host: judge.host, cwd: [judge.host.cwd], work: judge })
  if (found !== undefined) addFinding(judge, 'hardline', found)
}

/** On a host that others share, only a few programs run without approval, with plain words. */
function judgeOnSharedHost(judge: Judge, command: string): void {
  if (judge.findings.length > 0) return
  const isPlain = /^[\w\s./:=@,+%'"|;&-]*$/.test(command) && !/(^|\s)-\w*[rR]\b|--/.test(command)
  const areFixed = [...judge.programs].every((program) => fixedPrograms.has(program))
  if (!isPlain || !areFixed || judge.programs.has('git'))
    addFinding(
      judge,
      'ask',
      'On a shared machine only a few commands run without approval',
      [...judge.commands][0]?.split(' ')[0],
    )
}

function createJudge(host: HostContext): Judge {
  const judge: Judge = {
    host,
    findings: [],
    programs: new Set(),
    commands: new Set(),
    literals: new Set(),
    transforms: new Map(),
    hasUnknownCode: false,
    written: new Map(),
    readsMany: false,
    arrivals: 'none',
    leaves: false,
    fetches: false,
    runsProject: false,
    isUnread: false,
    hasHiddenCode: false,
    unpacked: [],
    listings: [],
    links: new Map(host.links?.map(({ path, target }) => [path, target])),
    renamed: new Map(),
    hasLostText: false,
    remainingSteps: maxSteps,
    remainingGuesses: maxGuesses,
    depth: 0,
    containerDepth: 0,
    walkScript: (scope, script, stdin) => {
      if (script.type === 'Script') reportParseErrors(judge, script)
      return walkStatements(scope, script.commands, stdin)
    },
    walkBody: (scope, body, stdin) => walkNode(scope, body, stdin),
    walkText: (scope, text, stdin) => walkText(scope, text, stdin),
    judgeVector,
  }
  return judge
}

function walkText(scope: JudgeScope, text: string, stdin: string | undefined): string | undefined {
  const { judge } = scope
  // Parsing costs steps as well, so that repeated parsing of long texts ends.
  judge.remainingSteps -= text.length >> 6
  if (judge.remainingSteps < 0 || text.length > maxScriptChars || judge.depth >= maxNestedScripts) {
    judge.isUnread = true
    addFinding(judge, 'ask', 'The command does too much to judge all of it.')
    return undefined
  }
  judge.depth++
  try {
    return judge.walkScript(scope, parse(text), stdin)
  } finally {
    judge.depth--
  }
}

function reportParseErrors(judge: Judge, { errors }: ParsedScript): void {
  if (!errors?.length) return
  judge.isUnread = true
  addFinding(judge, 'ask', `The command cannot be read: ${errors[0]?.message ?? ''}`)
}

/** Whether something of the line was not searched for hardline commands, because the line is too large or unreadable. */
const isUnjudged = (judge: Judge): boolean => {
  const { isUnread, hasHiddenCode, hasUnknownCode, hasLostText, remainingSteps, remainingGuesses } = judge
  return isUnread || hasHiddenCode || (hasUnknownCode && hasLostText) || remainingSteps < 0 || remainingGuesses < 0
}

const mayLeave = ({ host: { isSandboxed, isOnline }, leaves, isUnread }: Judge): boolean =>
  (!isSandboxed || isOnline === true) && (leaves || isUnread)

function createVerdict(judge: Judge): CommandVerdict {
  const { findings, programs, commands, readsMany } = judge
  const hardlines = findings.filter(({ level }) => level === 'hardline')
  const relevant = hardlines.length > 0 ? hardlines : findings
  const reasons = [...new Set(relevant.map(({ reason }) => reason))].slice(0, maxReasons)
  const verdict = hardlines.length > 0 ? 'hardline' : findings.length > 0 ? 'ask' : 'allow'
  const rules = new Set(findings.map(({ rule }) => rule))
  const [rule] = rules
  const isSafeRule = verdict === 'ask' && rules.size === 1 && rule !== undefined
  return {
    verdict,
    reasons,
    programs: [...programs],
    commands: [...commands],
    ...(readsMany && { readsMany }),
    ...(mayLeave(judge) && { leaves: true }),
    ...(judge.runsProject && { runsFiles: true }),
    ...(verdict === 'ask' && isUnjudged(judge) && { isUnjudged: true }),
    ...(isSafeRule && { rule }),
  }
}

// Rejects a command text before it is parsed: misleading characters, and texts that are too long.

const maxChars = 20_000
const maxSegmentChars = 4_096
const maxSegments = 5_000

/** Control characters, unusual spaces, direction marks, invisible characters, private use, lone surrogates. */
const deceptiveCharacters =
  // oxlint-disable-next-line no-control-regex -- this pattern finds control characters
  /[\u0000-\u0008\u000B-\u001F\u007F-\u00A0\u00AD\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3000\u3164\uFEFF\uFFA0\uFFF0-\uFFFB]|\u034F|\p{Variation_Selector}(?<!\uFE0F)|\p{Co}|\p{Cs}|[\u{E0000}-\u{E0FFF}]/u

/** Returns why the text cannot be judged, or undefined. */
function screenCommand(command: string): string | undefined {
  if (command.length > maxChars) return `The command is ${command.length} characters long.`
  if (deceptiveCharacters.test(command)) return 'The command has invisible, control or look-alike characters in it.'
  const segments = command.split(/[\n;|&]/)
  if (segments.length > maxSegments) return 'The command has too many parts to judge.'
  if (segments.some(({ length }) => length > maxSegmentChars))
    return 'The command has a very long part without a separator.'
  return undefined
}
