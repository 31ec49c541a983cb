/**
 * Whether a command line may run unasked. It is parsed as bash parses it and walked as bash would run it; `allow` means
 * that every program in it is on the list, with options that are, and writes nowhere but into the workspace. What is
 * not understood is asked about.
 */

import { parse, type ParsedScript } from 'unbash'
import { run } from './run.ts'
import { screen } from './screen.ts'
import { asCall } from './simple.ts'
import { judgeVariables } from './variables.ts'
import { finding, type Around, type Judge, type Shell } from './shell.ts'
import { walkNode, walkStatements } from './walk.ts'

export type { Around } from './shell.ts'

export type Verdict = {
  /** `hardline` never runs, in no mode. */
  readonly verdict: 'allow' | 'ask' | 'hardline'
  /** For the person who is asked: which program, and what it would do. */
  readonly reasons: readonly string[]
  readonly programs: readonly string[]
  /** Every command in it, with its words as bash would see them: what rules are matched against. */
  readonly commands: readonly string[]
  /** What “always” may store: the program inside and its subcommand. Absent where no such rule would be safe. */
  readonly rule?: string
}

const MAX_STEPS = 4_000
const MAX_SCRIPTS = 24
const MAX_REASONS = 8

export function judgeCommand(command: string, around: Around): Verdict {
  const unreadable = screen(command)
  if (unreadable !== undefined) return { verdict: 'ask', reasons: [unreadable], programs: [], commands: [] }
  const judge = newJudge(around)
  const shell: Shell = {
    vars: new Map(),
    functions: new Map(),
    aliases: new Map(),
    files: new Map(),
    cwd: [around.cwd],
    moved: undefined,
    positional: [],
  }
  try {
    judge.script(command, shell, 'none')
    // The next command starts with what this one has set.
    judgeVariables(asCall(judge, shell, 'The shell'))
  } catch (error) {
    // Nested so deeply that it cannot be walked.
    if (!(error instanceof RangeError)) throw error
    finding(judge, 'ask', 'The command is nested too deeply to judge')
  }
  if (judge.steps < 0) finding(judge, 'ask', 'The command does too much to judge all of it.')
  return verdictOf(judge)
}

function newJudge(around: Around): Judge {
  const judge: Judge = {
    around,
    findings: [],
    programs: new Set(),
    commands: new Set(),
    decoded: new Set(),
    steps: MAX_STEPS,
    depth: 0,
    contained: 0,
    list: (script, shell, stdin) => {
      if (script.type === 'Script') readable(judge, script)
      return walkStatements(judge, script.commands, shell, stdin)
    },
    body: (body, shell, stdin) => walkNode({ judge, shell }, body, stdin),
    script: (text, shell, stdin) => nested(judge, () => judge.list(parsed(judge, text), shell, stdin)),
    run: (argv, shell, stdin) => run(judge, argv, shell, stdin),
  }
  return judge
}

function readable(judge: Judge, { errors }: ParsedScript): void {
  if (errors && errors.length > 0) finding(judge, 'ask', `The command cannot be read: ${errors[0]?.message ?? ''}`)
}

const NOTHING = { type: 'Script', pos: 0, end: 0, shebang: undefined, commands: [] } as const

function parsed(judge: Judge, text: string): ParsedScript {
  // Reading costs as well: long texts that are read again and again use up the steps.
  judge.steps -= text.length >> 6
  if (judge.steps >= 0 && text.length <= 40_000) return parse(text)
  finding(judge, 'ask', 'The command does too much to judge all of it.')
  return NOTHING
}

function nested<T>(judge: Judge, walk: () => T): T | 'unknown' {
  if (judge.depth >= MAX_SCRIPTS) {
    finding(judge, 'ask', 'Commands are nested too deeply to judge')
    return 'unknown'
  }
  judge.depth++
  const output = walk()
  judge.depth--
  return output
}

function verdictOf({ findings, programs, commands }: Judge): Verdict {
  const hard = findings.filter(({ level }) => level === 'hardline')
  const telling = hard.length > 0 ? hard : findings
  const reasons = [...new Set(telling.map(({ reason }) => reason))].slice(0, MAX_REASONS)
  const verdict = hard.length > 0 ? 'hardline' : findings.length > 0 ? 'ask' : 'allow'
  const rules = new Set(findings.map(({ rule }) => rule))
  const [rule] = rules
  const sure = verdict === 'ask' && rules.size === 1 && rule !== undefined
  return { verdict, reasons, programs: [...programs], commands: [...commands], ...(sure && { rule }) }
}
