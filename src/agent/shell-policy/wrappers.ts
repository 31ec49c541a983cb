/** Programs that start another one: what is judged is the one inside. */

import { ANY, isUnknown, mayBeOption, shown, SPLIT, STAR, type Field } from './marks.ts'
import {
  accept,
  flag,
  readOptions,
  reads,
  runsProject,
  staysInside,
  valuesOf,
  writes,
  type Grammar,
  type Options,
} from './call.ts'
import { resolvePath } from './paths.ts'
import { contentOf } from './simple.ts'
import { judgeVariable } from './variables.ts'
import { runCode } from './shells.ts'
import { clone, type Call, type Policy, type Stream } from './shell.ts'

type Wrapper = Grammar & {
  /** Words between the options and the program. */
  readonly skip?: number
  /** It takes `NAME=value` in front of the program. */
  readonly assigns?: boolean
  /** Why it is asked about, whatever it starts. */
  readonly because?: string
  /** Without a program it does something harmless. */
  readonly alone?: boolean
}

const ASSIGNMENT = /^([A-Za-z_]\w*)=([\s\S]*)$/

const wrapper =
  (how: Wrapper): Policy =>
  (call) => {
    const options = readOptions(call.args, how, true)
    accept(call, options)
    if (how.because !== undefined) call.ask(`${call.name} ${how.because}`, null)
    const { rest, own } = how.assigns ? assigned(call, options.operands) : { rest: options.operands, own: call }
    return inner(own, rest.slice(how.skip ?? 0), how.alone ?? false)
  }

function inner(call: Call, argv: readonly Field[], alone = false): Stream {
  const [first] = argv
  if (first === undefined) {
    if (!alone && !call.args.some((arg) => arg === '--version' || arg === '--help'))
      call.ask(`${call.name} is started without a program`)
    return 'unknown'
  }
  if (mayBeOption(first)) call.ask(`${call.name} is given a word that may be an option`, null)
  return call.judge.run(argv, call.shell, call.stdin)
}

function assigned(call: Call, words: readonly Field[]) {
  const shell = clone(call.shell)
  let at = 0
  for (; at < words.length; at++) {
    const [, name = '', value = ''] = ASSIGNMENT.exec(words[at] ?? '') ?? []
    if (name === '') break
    judgeVariable(call, name, value, true)
    shell.vars.set(name, { candidates: [value] })
  }
  return { rest: words.slice(at), own: { ...call, shell } }
}

const env: Policy = (call) => {
  const grammar = { short: 'iv0', valued: 'uCS', long: 'ignore-environment null unset= chdir= split-string= debug' }
  const options = readOptions(call.args, grammar, true)
  accept(call, options)
  for (const name of valuesOf(options, 'u', 'unset')) judgeVariable(call, name, '', false)
  const split = valuesOf(options, 'S', 'split-string')
  const { rest, own } = assigned(call, options.operands)
  for (const dir of valuesOf(options, 'C', 'chdir')) own.shell.cwd = own.shell.cwd.map((cwd) => resolvePath(dir, cwd))
  if (split.length > 0) {
    const text = [...split, ...rest.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`)].join(' ')
    // A word that begins with an assignment is one for env as well.
    runCode(own, text.replaceAll('\\_', ' '))
    return 'unknown'
  }
  if (rest.length === 0 && !call.judge.around.sandboxed) call.ask('env shows all variables, secrets among them')
  return rest.length === 0 ? 'unknown' : inner(own, rest)
}

const sudo: Policy = (call) => {
  const options = readOptions(
    call.args,
    {
      short: 'AbEeHhiKklnPsSvV',
      valued: 'CcDghpRrtTuU',
      long: 'user= group= preserve-env login shell non-interactive stdin background reset-timestamp host= chdir=',
    },
    true,
  )
  call.ask(`${call.name} runs with the rights of another user`, null)
  const { rest, own } = assigned(call, options.operands)
  if (rest.length === 0) return 'unknown'
  return flag(options, 's', 'i') ? (runCode(own, rest.join(' ')), 'unknown') : inner(own, rest)
}

const su: Policy = (call) => {
  call.ask(`${call.name} runs with the rights of another user`, null)
  const options = readOptions(call.args, { short: 'lmpfP', valued: 'cgGsw', long: 'command= login shell= user=' })
  for (const text of valuesOf(options, 'c', 'command')) runCode(call, text)
  const user = call.args.findIndex((arg) => arg === '-u' || arg === '--user')
  if (call.name === 'runuser' && user !== -1)
    inner(
      call,
      call.args.slice(user + 2).filter((arg) => arg !== '--'),
    )
  return 'unknown'
}

const xargs: Policy = (call) => {
  const grammar = {
    short: '0prtxo',
    valued: 'adEIJLnPsi',
    long: 'null no-run-if-empty verbose interactive exit arg-file= delimiter= max-args= max-procs= max-lines= replace= max-chars= eof=',
  }
  const options = readOptions(call.args, grammar, true)
  accept(call, options)
  const file = valuesOf(options, 'a', 'arg-file')[0]
  const input = file === undefined ? call.stdin : contentOf(call.shell, file)
  if (file !== undefined) reads(call, [file])
  const replaced = valuesOf(options, 'I', 'J', 'i', 'replace')[0]
  const program = options.operands.length === 0 ? ['echo'] : options.operands
  for (const words of itemsOf(input, options)) {
    const own = { ...call, stdin: file === undefined ? ('unknown' as const) : call.stdin }
    if (replaced === undefined || replaced === '') inner(own, [...program, ...words])
    else
      for (const word of words)
        inner(
          own,
          program.map((arg) => arg.replaceAll(replaced, () => word)),
        )
  }
  return 'unknown'
}

const MAX_ITEMS = 64

/** What xargs adds. Unknown input is names of files, or whatever else somebody wrote into it: options too. */
function itemsOf(input: Stream | 'none', options: Options): readonly (readonly Field[])[] {
  const unknown = [[STAR], [flag(options, 'I', 'J', 'i', 'replace') ? ANY : SPLIT]]
  if (input === 'unknown' || input === 'none') return unknown
  const separator = flag(options, '0', 'null') ? /[\0\n]/ : flag(options, 'I', 'd') ? /\n/ : /[\s'"]+/
  const lists = input.map((text) => text.split(separator).filter((word) => word !== ''))
  return lists.every((list) => list.length <= MAX_ITEMS) ? lists : unknown
}

const commandBuiltin: Policy = (call) => {
  const options = readOptions(call.args, { short: 'pvV' }, true)
  if (flag(options, 'v', 'V')) return 'unknown'
  accept(call, options)
  // Functions and aliases do not count here.
  const shell = { ...clone(call.shell), functions: new Map(), aliases: new Map() }
  const output = inner({ ...call, shell }, options.operands, true)
  call.shell.cwd = shell.cwd
  return output
}

const execBuiltin: Policy = (call) => {
  const options = readOptions(call.args, { short: 'cl', valued: 'a' }, true)
  accept(call, options)
  return options.operands.length === 0 ? [''] : inner(call, options.operands)
}

const timeProgram: Policy = (call) => {
  const options = readOptions(
    call.args,
    { short: 'pvaq', valued: 'fo', long: 'verbose portability format= output= append' },
    true,
  )
  accept(call, options)
  writes(call, valuesOf(options, 'o', 'output'))
  return inner(call, options.operands)
}

const timeout: Policy = (call) => {
  const options = readOptions(
    call.args,
    { short: 'vfp', valued: 'ks', long: 'kill-after= signal= foreground preserve-status verbose' },
    true,
  )
  accept(call, options)
  return inner(call, options.operands.slice(1))
}

const watch: Policy = (call) => {
  const options = readOptions(
    call.args,
    { short: 'bcdegtwx', valued: 'nq', long: 'interval= differences no-title color errexit chgexit exec precise beep' },
    true,
  )
  accept(call, options)
  if (options.operands.length === 0) return undefined
  if (flag(options, 'x', 'exec')) return inner(call, options.operands)
  runCode(call, options.operands.join(' '))
  return undefined
}

const flock: Policy = (call) => {
  const options = readOptions(
    call.args,
    {
      short: 'eFnosux',
      valued: 'wEc',
      long: 'exclusive shared nonblock timeout= unlock close command= no-fork conflict-exit-code=',
    },
    true,
  )
  accept(call, options)
  const [file = '', ...rest] = options.operands
  if (!/^\d+$/.test(file)) writes(call, [file])
  const code = rest[0] === '-c' || rest[0] === '--command' ? rest[1] : valuesOf(options, 'c', 'command')[0]
  if (code !== undefined) runCode(call, code)
  else if (rest.length > 0) inner(call, rest)
  return undefined
}

const parallel: Policy = (call) => {
  call.ask('parallel puts commands together when it runs', null)
  const options = readOptions(call.args, { valued: 'janNI', long: 'jobs= arg-file= max-args=' }, true)
  const at = options.operands.findIndex((word) => /^::::?\+?$/.test(word))
  const program = at === -1 ? options.operands : options.operands.slice(0, at)
  const given = at === -1 ? itemsOf(call.stdin, options).flat() : options.operands.slice(at + 1)
  for (const item of given.slice(0, MAX_ITEMS)) {
    const text = program.join(' ')
    runCode(call, text.includes('{}') ? text.replaceAll('{}', () => item) : `${text} ${item}`.trim())
  }
  return undefined
}

const script: Policy = (call) => {
  const options = readOptions(call.args, {
    short: 'aefqO',
    valued: 'cEIBTtmo',
    long: 'append command= flush quiet return',
  })
  call.ask('script starts a shell of its own', null)
  for (const text of valuesOf(options, 'c', 'command')) runCode(call, text)
  if (options.operands.length > 1) inner(call, options.operands.slice(1))
  return undefined
}

/** Somewhere else: nothing there is the machine this runs on, and everything there is asked about. */
export function contained(call: Call, start: () => void): void {
  call.judge.contained++
  start()
  call.judge.contained--
}

const ssh: Policy = (call) => {
  const options = readOptions(call.args, { short: '1246AaCfGgKkMNnqsTtVvXxYy', valued: 'BbcDEeFIiJLlmOopQRSWw' }, true)
  const [host = '', ...rest] = options.operands
  call.ask(`ssh works on another machine${host === '' ? '' : `, ${shown(host)}`}`, null)
  for (const option of valuesOf(options, 'o'))
    if (/command|exec/i.test(option)) call.ask(`ssh is given ${shown(option)}`)
  if (rest.length > 0) runCode(call, rest.join(' '))
  return undefined
}

/** A program installed in the project, behind its package manager: `npx tsc`, `uv run pytest`. */
export function projectTool(call: Call, argv: readonly Field[]): void {
  runsProject(call, `${call.name} ${argv.map((arg) => shown(arg)).join(' ')}`.slice(0, 80))
  const [first, ...rest] = argv.filter((arg, i) => i > 0 || arg !== '--')
  if (first === undefined) return
  const name = first.replace(/(?<!^)@[\w.^~-]+$/, '')
  if (isUnknown(name)) call.ask(`${call.name} starts a program that is only known when it runs`)
  else call.judge.run([name, ...rest], call.shell, call.stdin)
}

const busybox: Policy = (call) =>
  call.args.length === 0 || /^--(help|version|list|list-full)$/.test(call.args[0] ?? '')
    ? undefined
    : inner(call, call.args)

const coverage: Policy = (call) => {
  const [command = '', ...rest] = call.args
  runsProject(call, `${call.name} ${shown(command)}`)
  if (command === 'run') inner(call, ['python', ...rest])
  else staysInside(call)
  return undefined
}

/** at and batch read shell code, and run it when nobody looks any more. */
const later: Policy = (call) => {
  call.ask(`${call.name} runs commands later`, null)
  if (call.stdin !== 'none' && call.stdin !== 'unknown') for (const text of call.stdin) runCode(call, text)
  return undefined
}

const personality = wrapper({ short: 'RLB3v' })
const SCHEDULING = { short: 'abdfioRrv', valued: 'pTPD' }

const TRACED = 'looks into another program and can change it'

export const wrappers: Readonly<Record<string, Policy>> = {
  env,
  sudo,
  doas: wrapper({ short: 'nsL', valued: 'uCa', because: 'runs with the rights of another user' }),
  su,
  runuser: su,
  pkexec: wrapper({ valued: 'u', long: 'user=', because: 'runs with the rights of another user' }),
  xargs,
  timeout,
  gtimeout: timeout,
  time: timeProgram,
  nohup: wrapper({}),
  setsid: wrapper({ short: 'cfw', long: 'ctty fork wait' }),
  nice: wrapper({ valued: 'n', short: '0123456789', long: 'adjustment=' }),
  ionice: wrapper({ short: 't', valued: 'cnpPu', long: 'class= classdata= ignore', alone: true }),
  chrt: (call) => {
    const [priority = ''] = readOptions(call.args, SCHEDULING, true).operands
    // Without one, some take the word for the program.
    if (!/^\d+$/.test(priority)) call.ask('chrt is given no priority')
    return wrapper({ ...SCHEDULING, skip: 1 })(call)
  },
  taskset: wrapper({ short: 'ac', skip: 1 }),
  stdbuf: wrapper({ valued: 'ioe', long: 'input= output= error=' }),
  unbuffer: wrapper({ short: 'p' }),
  command: commandBuiltin,
  builtin: wrapper({}),
  exec: execBuiltin,
  busybox,
  toybox: busybox,
  chroot: wrapper({ long: 'userspec= groups= skip-chdir', skip: 1, because: 'changes what the root directory is' }),
  watch,
  flock,
  parallel,
  script,
  ssh,
  setarch: (call) => {
    // The architecture comes before the options, if at all.
    const named = call.args[0]?.startsWith('-') === false
    return personality(named ? { ...call, args: call.args.slice(1) } : call)
  },
  // On some systems it starts programs.
  arch: wrapper({ alone: true }),
  linux64: personality,
  linux32: personality,
  unshare: wrapper({ short: 'mupinUCTfrcS', because: 'leaves the walls this runs in' }),
  nsenter: wrapper({
    short: 'mupinUCTa',
    valued: 'tSGrw',
    long: 'target= mount uts ipc net pid user all',
    because: 'enters the walls of another process',
  }),
  setpriv: wrapper({ because: 'changes the rights of a program' }),
  'systemd-run': wrapper({ short: 'qtPGdS', valued: 'puM', because: 'starts a service' }),
  strace: wrapper({ short: 'cCdDfFhiqrTtVvxyYkwzZ', valued: 'aeoOpPsSuEIXb', because: TRACED }),
  ltrace: wrapper({ short: 'cCfhirSTtV', valued: 'aeolnpsux', because: TRACED }),
  valgrind: wrapper({ because: TRACED }),
  fakeroot: wrapper({ short: 'hvu', because: 'is not on the list of programs that run unasked' }),
  proot: wrapper({ valued: 'rbqwk', because: 'is not on the list of programs that run unasked' }),
  at: later,
  batch: later,
  'xvfb-run': wrapper({ short: 'a', valued: 'n', long: 'auto-servernum server-num=' }),
  'dbus-run-session': wrapper({}),
  catchsegv: wrapper({}),
  caffeinate: wrapper({ short: 'dimsu', valued: 'tw' }),
  coverage,
  noglob: wrapper({}),
  nocorrect: wrapper({}),
}
