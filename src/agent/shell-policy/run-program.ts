/** Finds and applies the policy of the program that a list of words starts. */

import { canMatch, isGlob, isLiteral, isUnknown, renderField, type Field } from './field.ts'
import { resolvePaths, getZone } from './path-zones.ts'
import { checkProjectCode, checkArgumentPaths } from './call-checks.ts'
import { programs } from './programs/index.ts'
import { destructiveNames } from './programs/destructive.ts'
import { judgeFile } from './nested-shells.ts'
import {
  cloneShell,
  addFinding,
  joinShells,
  type Call,
  type Judge,
  type Policy,
  type Shell,
  type Stdin,
  type Stream,
} from './shell-state.ts'
import { judgeVariables } from './judge-variables.ts'
import { getVariable } from './expand-word.ts'

const maxDepth = 24
const binPath = /^\/(usr\/(local\/)?|opt\/homebrew\/|opt\/local\/)?s?bin\/([^/]+)$/

export function runProgram(judge: Judge, argv: readonly Field[], shell: Shell, stdin: Stdin): Stream {
  const [name = '', ...args] = argv
  if (--judge.remainingSteps < 0) return 'unknown'
  if (judge.depth >= maxDepth) {
    addFinding(judge, 'ask', 'Commands are nested too deeply to judge')
    return 'unknown'
  }
  judge.depth++
  recordCommand(judge, argv)
  const output = judgeProgram({ judge, shell, stdin, args }, name)
  judge.depth--
  return output
}

const maxCommands = 500

/** Records the command for approval rules, with the name of the program instead of its path. */
function recordCommand({ commands }: Judge, [name = '', ...args]: readonly Field[]): void {
  if (commands.size >= maxCommands) return
  const program = binPath.exec(name)?.[3] ?? name
  commands.add([program, ...args].map((field) => renderField(field)).join(' '))
}

type ProgramStart = {
  readonly judge: Judge
  readonly shell: Shell
  readonly stdin: Stdin
  readonly args: readonly Field[]
}

function judgeProgram(programStart: ProgramStart, name: Field): Stream {
  const { judge, shell } = programStart
  if (!isLiteral(name)) return judgeUnknownProgram(programStart, name)
  const alias = shell.aliases.get(name)
  if (alias !== undefined) judgeAlias(programStart, name, alias)
  const definition = shell.functions.get(name)
  if (!definition) return judgeNamedProgram(programStart, name)
  const output = judgeFunction(programStart, name)
  if (!definition.isCertain) judgeNamedProgram(programStart, name)
  judge.programs.add(name)
  return output
}

/** Judges the body of a function with its arguments. Its changes to the state remain. */
function judgeFunction({ judge, shell, stdin, args }: ProgramStart, name: string): Stream {
  const bodies = shell.functions.get(name)?.bodies ?? []
  const outputs = bodies.map((body) => {
    const inner = { ...cloneShell(shell), positional: args }
    const output = judge.judgeBody(body, inner, stdin)
    joinShells(shell, inner, (variable) => getVariable({ judge, shell }, variable))
    return output
  })
  return outputs.length === 1 ? (outputs[0] ?? 'unknown') : 'unknown'
}

function judgeAlias({ judge, shell, stdin, args }: ProgramStart, name: string, alias: string): void {
  const words = alias.split(/\s+/).filter((word) => word !== '')
  shell.aliases.delete(name)
  judge.judgeCall([...words, ...args], shell, stdin)
  shell.aliases.set(name, alias)
}

function judgeUnknownProgram(programStart: ProgramStart, name: Field): Stream {
  const { judge } = programStart
  addFinding(
    judge,
    'ask',
    `The program is only known at run time: ${renderField(name)} ${programStart.args.map((arg) => renderField(arg)).join(' ')}`.trim(),
  )
  if (isGlob(name) && !isUnknown(name)) {
    for (const program of destructiveNames)
      if (['', '/bin/', '/usr/bin/', '/sbin/', '/usr/sbin/'].some((dir) => canMatch(name, dir + program)))
        judgeNamedProgram(programStart, program)
  }
  return 'unknown'
}

function judgeNamedProgram(programStart: ProgramStart, word: string): Stream {
  const { judge, shell } = programStart
  const path = word.includes('/') ? resolvePaths(word, shell) : []
  const [, , , base = ''] = path.length === 1 ? (binPath.exec(path[0] ?? '') ?? []) : []
  const name = base === '' ? word : base
  const call = createCall(programStart, name)
  if (word.includes('/') && base === '') return judgeProgramFile(call, word, path)
  judge.programs.add(name)
  judgeVariables(call)
  const policy = isQuestion(call) ? allowQuestion : policyFor(name)
  if (policy) return policy(call) ?? 'unknown'
  call.ask(`${renderField(name)} is not on the list of programs that run without approval`)
  judgeCarriedCommand(call)
  return 'unknown'
}

const policyFor = (name: string): Policy | undefined =>
  Object.hasOwn(programs, name) ? programs[name] : findVersionedPolicy(name)

const allowQuestion: Policy = () => undefined

/** Destructive programs may show their help or version. */
const isQuestion = ({ name, args }: Call): boolean =>
  args.length === 1 &&
  /^--(help|version)$/.test(args[0] ?? '') &&
  (destructiveNames.includes(name) || name.startsWith('mkfs.'))

/**
 * An unknown program may be a wrapper. When its arguments are a command that is refused, the call is refused as well.
 * Programs that are destructive without arguments, such as `reboot`, do not count: they may be names of manual pages.
 */
function judgeCarriedCommand({ judge, args, shell }: Call): void {
  const at = args.findIndex((arg, i) => {
    const program = binPath.exec(arg)?.[3] ?? arg
    return i + 1 < args.length && (carriedPrograms.has(program) || /^mkfs[.\w-]*$/.test(program))
  })
  const code = args.indexOf('-c') + 1
  const before = judge.findings.length
  if (at !== -1) judge.judgeCall(args.slice(at), cloneShell(shell), 'none')
  if (code > 0) judge.judgeScript(args[code] ?? '', cloneShell(shell), 'none')
  const added = judge.findings.splice(before)
  judge.findings.push(...added.filter(({ level }) => level === 'hardline'))
}

const carriedPrograms: ReadonlySet<string> = new Set(
  'rm dd chmod chown shred wipefs blkdiscard find sh bash dash zsh ksh env sudo busybox'.split(' '),
)

/** Finds the policy for a versioned name: python3.12, gcc-13, mkfs.ext4. */
function findVersionedPolicy(name: string) {
  if (/^mkfs[.\w-]*$/.test(name) || /^mke2fs$|^newfs[\w.]*$/.test(name)) return programs['mkfs']
  const [, stem = ''] = /^([a-z+]+)-?\d+(?:\.\d+)*$/.exec(name) ?? []
  return ['python', 'pip', 'gcc', 'clang', 'node', 'ruby', 'perl', 'php', 'lua', 'g++', 'clang++'].includes(stem)
    ? programs[stem]
    : undefined
}

function createCall({ judge, shell, stdin, args }: ProgramStart, name: string): Call {
  return {
    name,
    args,
    shell,
    stdin,
    judge,
    ask: (reason, rule) => addFinding(judge, 'ask', reason, rule === null ? undefined : (rule ?? name)),
    refuse: (reason) => addFinding(judge, 'hardline', reason),
  }
}

/** Judges a program of the project, or a file that this command line has written. */
function judgeProgramFile(call: Call, word: string, paths: readonly Field[]): Stream {
  call.judge.programs.add(word)
  const isWritten = paths.some((path) => call.shell.files.has(path))
  if (isWritten) return judgeFile(call, word, call.args)
  const isInside = paths.every((path) => getZone(path, call.judge.host) === 'inside')
  if (isInside) checkProjectCode(call, word)
  else {
    call.ask(`${word} is a program outside the workspace`)
    judgeCarriedCommand(call)
  }
  const tool = /(?:^|\/)node_modules\/\.bin\/([\w.-]+)$|(?:^|\/)\.?venv\/bin\/([\w.-]+)$/.exec(word)
  const base = tool?.[1] ?? tool?.[2]
  if (base !== undefined && Object.hasOwn(programs, base))
    call.judge.judgeCall([base, ...call.args], call.shell, call.stdin)
  else checkArgumentPaths(call)
  return 'unknown'
}
