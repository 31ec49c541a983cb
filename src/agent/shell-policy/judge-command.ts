/**
 * Judges whether a command line may run without approval. The line is parsed as bash parses it and walked as bash would
 * run it. `allow` means that all programs and options are on the lists and that all writes stay in the workspace.
 * Everything else needs approval.
 */

import { parse, type ParsedScript } from 'unbash'
import { runProgram } from './run-program.ts'
import { screenCommand } from './screen-command.ts'
import { createShellCall } from './simple-command.ts'
import { judgeVariables } from './judge-variables.ts'
import { addFinding, type HostContext, type Judge, type Shell } from './shell-state.ts'
import { walkNode, walkStatements } from './walk-tree.ts'

export type { HostContext as Around } from './shell-state.ts'

export type CommandVerdict = {
  /** `hardline` never runs, in no mode. */
  readonly verdict: 'allow' | 'ask' | 'hardline'
  /** For the person who approves: the program and its effect. */
  readonly reasons: readonly string[]
  readonly programs: readonly string[]
  /** All commands of the line with expanded words. Approval rules match these texts. */
  readonly commands: readonly string[]
  /** The rule that “always” may store: a program and its subcommand. Absent where no rule would be safe. */
  readonly rule?: string
}

const maxSteps = 4_000
const maxNestedScripts = 24
const maxReasons = 8

export function judgeCommand(command: string, host: HostContext): CommandVerdict {
  const problem = screenCommand(command)
  if (problem !== undefined) return { verdict: 'ask', reasons: [problem], programs: [], commands: [] }
  const judge = createJudge(host)
  const shell: Shell = {
    vars: new Map(),
    functions: new Map(),
    aliases: new Map(),
    files: new Map(),
    cwd: [host.cwd],
    cwdAfterCd: undefined,
    positional: [],
  }
  try {
    judge.judgeScript(command, shell, 'none')
    // The variables that this command sets affect the next one.
    judgeVariables(createShellCall(judge, shell, 'The shell'))
  } catch (error) {
    // The stack overflowed.
    if (!(error instanceof RangeError)) throw error
    addFinding(judge, 'ask', 'The command is nested too deeply to judge')
  }
  if (judge.remainingSteps < 0) addFinding(judge, 'ask', 'The command does too much to judge all of it.')
  return createVerdict(judge)
}

function createJudge(host: HostContext): Judge {
  const judge: Judge = {
    host: host,
    findings: [],
    programs: new Set(),
    commands: new Set(),
    decodedTexts: new Set(),
    remainingSteps: maxSteps,
    depth: 0,
    containerDepth: 0,
    judgeList: (script, shell, stdin) => {
      if (script.type === 'Script') reportParseErrors(judge, script)
      return walkStatements(judge, script.commands, shell, stdin)
    },
    judgeBody: (body, shell, stdin) => walkNode({ judge, shell }, body, stdin),
    judgeScript: (text, shell, stdin) =>
      judgeNested(judge, () => judge.judgeList(parseScript(judge, text), shell, stdin)),
    judgeCall: (argv, shell, stdin) => runProgram(judge, argv, shell, stdin),
  }
  return judge
}

function reportParseErrors(judge: Judge, { errors }: ParsedScript): void {
  if (errors && errors.length > 0) addFinding(judge, 'ask', `The command cannot be read: ${errors[0]?.message ?? ''}`)
}

const emptyScript = { type: 'Script', pos: 0, end: 0, shebang: undefined, commands: [] } as const

function parseScript(judge: Judge, text: string): ParsedScript {
  // Parsing costs steps as well, so that repeated parsing of long texts ends.
  judge.remainingSteps -= text.length >> 6
  if (judge.remainingSteps >= 0 && text.length <= 40_000) return parse(text)
  addFinding(judge, 'ask', 'The command does too much to judge all of it.')
  return emptyScript
}

function judgeNested<T>(judge: Judge, walk: () => T): T | 'unknown' {
  if (judge.depth >= maxNestedScripts) {
    addFinding(judge, 'ask', 'Commands are nested too deeply to judge')
    return 'unknown'
  }
  judge.depth++
  const output = walk()
  judge.depth--
  return output
}

function createVerdict({ findings, programs, commands }: Judge): CommandVerdict {
  const hardlines = findings.filter(({ level }) => level === 'hardline')
  const relevant = hardlines.length > 0 ? hardlines : findings
  const reasons = [...new Set(relevant.map(({ reason }) => reason))].slice(0, maxReasons)
  const verdict = hardlines.length > 0 ? 'hardline' : findings.length > 0 ? 'ask' : 'allow'
  const rules = new Set(findings.map(({ rule }) => rule))
  const [rule] = rules
  const isSafeRule = verdict === 'ask' && rules.size === 1 && rule !== undefined
  return { verdict, reasons, programs: [...programs], commands: [...commands], ...(isSafeRule && { rule }) }
}
