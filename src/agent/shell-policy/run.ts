/** From a list of words to the policy of the program that they start. */

import { canBe, isGlob, isLiteral, isUnknown, shown, type Field } from './marks.ts'
import { places, zoneOf } from './paths.ts'
import { runsProject, staysInside } from './call.ts'
import { programs } from './programs/index.ts'
import { DESTRUCTIVE } from './programs/destructive.ts'
import { runFile } from './shells.ts'
import {
  clone,
  finding,
  join,
  type Call,
  type Judge,
  type Policy,
  type Shell,
  type Stdin,
  type Stream,
} from './shell.ts'
import { judgeVariables } from './variables.ts'
import { valueOf } from './word.ts'

const MAX_DEPTH = 24
const BIN = /^\/(usr\/(local\/)?|opt\/homebrew\/|opt\/local\/)?s?bin\/([^/]+)$/

export function run(judge: Judge, argv: readonly Field[], shell: Shell, stdin: Stdin): Stream {
  const [name = '', ...args] = argv
  if (--judge.steps < 0) return 'unknown'
  if (judge.depth >= MAX_DEPTH) {
    finding(judge, 'ask', 'Commands are nested too deeply to judge')
    return 'unknown'
  }
  judge.depth++
  note(judge, argv)
  const output = start({ judge, shell, stdin, args }, name)
  judge.depth--
  return output
}

const MAX_COMMANDS = 500

/** As people write rules: the program by its name, wherever it lies. */
function note({ commands }: Judge, [name = '', ...args]: readonly Field[]): void {
  if (commands.size >= MAX_COMMANDS) return
  const program = BIN.exec(name)?.[3] ?? name
  commands.add([program, ...args].map((field) => shown(field)).join(' '))
}

type Start = { readonly judge: Judge; readonly shell: Shell; readonly stdin: Stdin; readonly args: readonly Field[] }

function start(given: Start, name: Field): Stream {
  const { judge, shell } = given
  if (!isLiteral(name)) return startUnknown(given, name)
  const alias = shell.aliases.get(name)
  if (alias !== undefined) startAlias(given, name, alias)
  const definition = shell.functions.get(name)
  if (!definition) return startProgram(given, name)
  const output = startFunction(given, name)
  if (!definition.certain) startProgram(given, name)
  judge.programs.add(name)
  return output
}

/** The body is judged with the words it is called with; what it sets stays set. */
function startFunction({ judge, shell, stdin, args }: Start, name: string): Stream {
  const bodies = shell.functions.get(name)?.bodies ?? []
  const outputs = bodies.map((body) => {
    const inner = { ...clone(shell), positional: args }
    const output = judge.body(body, inner, stdin)
    join(shell, inner, (variable) => valueOf({ judge, shell }, variable))
    return output
  })
  return outputs.length === 1 ? (outputs[0] ?? 'unknown') : 'unknown'
}

function startAlias({ judge, shell, stdin, args }: Start, name: string, alias: string): void {
  const words = alias.split(/\s+/).filter((word) => word !== '')
  shell.aliases.delete(name)
  judge.run([...words, ...args], shell, stdin)
  shell.aliases.set(name, alias)
}

function startUnknown(given: Start, name: Field): Stream {
  const { judge } = given
  finding(
    judge,
    'ask',
    `Which program runs is only known when it does: ${shown(name)} ${given.args.map((arg) => shown(arg)).join(' ')}`.trim(),
  )
  if (isGlob(name) && !isUnknown(name)) {
    for (const program of DESTRUCTIVE)
      if (['', '/bin/', '/usr/bin/', '/sbin/', '/usr/sbin/'].some((dir) => canBe(name, dir + program)))
        startProgram(given, program)
  }
  return 'unknown'
}

function startProgram(given: Start, word: string): Stream {
  const { judge, shell } = given
  const path = word.includes('/') ? places(word, shell) : []
  const [, , , base = ''] = path.length === 1 ? (BIN.exec(path[0] ?? '') ?? []) : []
  const name = base === '' ? word : base
  const call = callOf(given, name)
  if (word.includes('/') && base === '') return startFile(call, word, path)
  judge.programs.add(name)
  judgeVariables(call)
  const policy = isQuestion(call) ? answered : policyFor(name)
  if (policy) return policy(call) ?? 'unknown'
  call.ask(`${shown(name)} is not on the list of programs that run unasked`)
  carries(call)
  return 'unknown'
}

const policyFor = (name: string): Policy | undefined =>
  Object.hasOwn(programs, name) ? programs[name] : familyOf(name)

const answered: Policy = () => undefined

/** Programs that destroy can be asked what they do. */
const isQuestion = ({ name, args }: Call): boolean =>
  args.length === 1 &&
  /^--(help|version)$/.test(args[0] ?? '') &&
  (DESTRUCTIVE.includes(name) || name.startsWith('mkfs.'))

/**
 * Nobody knows what an unknown program does with its words. When they are a command that never runs, it is taken for a
 * wrapper; programs that need no words to destroy (`reboot`) are not, for they are also names of manual pages.
 */
function carries({ judge, args, shell }: Call): void {
  const at = args.findIndex((arg, i) => {
    const program = BIN.exec(arg)?.[3] ?? arg
    return i + 1 < args.length && (CARRIED.has(program) || /^mkfs[.\w-]*$/.test(program))
  })
  const code = args.indexOf('-c') + 1
  const before = judge.findings.length
  if (at !== -1) judge.run(args.slice(at), clone(shell), 'none')
  if (code > 0) judge.script(args[code] ?? '', clone(shell), 'none')
  const added = judge.findings.splice(before)
  judge.findings.push(...added.filter(({ level }) => level === 'hardline'))
}

const CARRIED: ReadonlySet<string> = new Set(
  'rm dd chmod chown shred wipefs blkdiscard find sh bash dash zsh ksh env sudo busybox'.split(' '),
)

/** Versions of a program: python3.12, gcc-13, mkfs.ext4. */
function familyOf(name: string) {
  if (/^mkfs[.\w-]*$/.test(name) || /^mke2fs$|^newfs[\w.]*$/.test(name)) return programs['mkfs']
  const [, stem = ''] = /^([a-z+]+)-?\d+(?:\.\d+)*$/.exec(name) ?? []
  return ['python', 'pip', 'gcc', 'clang', 'node', 'ruby', 'perl', 'php', 'lua', 'g++', 'clang++'].includes(stem)
    ? programs[stem]
    : undefined
}

function callOf({ judge, shell, stdin, args }: Start, name: string): Call {
  return {
    name,
    args,
    shell,
    stdin,
    judge,
    ask: (reason, rule) => finding(judge, 'ask', reason, rule === null ? undefined : (rule ?? name)),
    never: (reason) => finding(judge, 'hardline', reason),
  }
}

/** A program of the project, or a file that this command has made. */
function startFile(call: Call, word: string, paths: readonly Field[]): Stream {
  call.judge.programs.add(word)
  const written = paths.some((path) => call.shell.files.has(path))
  if (written) return runFile(call, word, call.args)
  const inside = paths.every((path) => zoneOf(path, call.judge.around) === 'inside')
  if (inside) runsProject(call, word)
  else {
    call.ask(`${word} is a program outside the workspace`)
    carries(call)
  }
  const tool = /(?:^|\/)node_modules\/\.bin\/([\w.-]+)$|(?:^|\/)\.?venv\/bin\/([\w.-]+)$/.exec(word)
  const base = tool?.[1] ?? tool?.[2]
  if (base !== undefined && Object.hasOwn(programs, base)) call.judge.run([base, ...call.args], call.shell, call.stdin)
  else staysInside(call)
  return 'unknown'
}
