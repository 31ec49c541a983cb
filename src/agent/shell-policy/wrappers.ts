/** Judges programs that start another program, by that inner program. */

import { anyText, isUnknown, mayBeOption, renderField, anyWords, anyCharacters, type Field } from './field.ts'
import {
  checkOptions,
  hasOption,
  readOptions,
  checkReads,
  checkProjectCode,
  checkArgumentPaths,
  optionValues,
  checkWrites,
  type Grammar,
  type Options,
} from './call-checks.ts'
import { resolvePath } from './path-zones.ts'
import { getFileContent } from './simple-command.ts'
import { judgeVariable } from './judge-variables.ts'
import { judgeCode } from './nested-shells.ts'
import { cloneShell, type Call, type Policy, type Stream } from './shell-state.ts'

type Wrapper = Grammar & {
  /** Number of words between the options and the program. */
  readonly skippedWords?: number
  /** Accepts `NAME=value` before the program. */
  readonly acceptsAssignments?: boolean
  /** The reason for approval, independent of the inner program. */
  readonly reason?: string
  /** It is harmless without a program. */
  readonly isOptional?: boolean
}

const assignmentPattern = /^([A-Za-z_]\w*)=([\s\S]*)$/

const createWrapper =
  (grammar: Wrapper): Policy =>
  (call) => {
    const options = readOptions(call.args, grammar, true)
    checkOptions(call, options)
    if (grammar.reason !== undefined) call.ask(`${call.name} ${grammar.reason}`, null)
    const { rest, innerCall } = grammar.acceptsAssignments
      ? readAssignments(call, options.operands)
      : { rest: options.operands, innerCall: call }
    return judgeInner(innerCall, rest.slice(grammar.skippedWords ?? 0), grammar.isOptional ?? false)
  }

function judgeInner(call: Call, argv: readonly Field[], alone = false): Stream {
  const [first] = argv
  if (first === undefined) {
    if (!alone && !call.args.some((arg) => arg === '--version' || arg === '--help'))
      call.ask(`${call.name} is started without a program`)
    return 'unknown'
  }
  if (mayBeOption(first)) call.ask(`${call.name} is given a word that may be an option`, null)
  return call.judge.judgeCall(argv, call.shell, call.stdin)
}

function readAssignments(call: Call, words: readonly Field[]) {
  const shell = cloneShell(call.shell)
  let at = 0
  for (; at < words.length; at++) {
    const [, name = '', value = ''] = assignmentPattern.exec(words[at] ?? '') ?? []
    if (name === '') break
    judgeVariable(call, name, value, true)
    shell.vars.set(name, { candidates: [value] })
  }
  return { rest: words.slice(at), innerCall: { ...call, shell } }
}

const env: Policy = (call) => {
  const grammar = { short: 'iv0', valued: 'uCS', long: 'ignore-environment null unset= chdir= split-string= debug' }
  const options = readOptions(call.args, grammar, true)
  checkOptions(call, options)
  for (const name of optionValues(options, 'u', 'unset')) judgeVariable(call, name, '', false)
  const split = optionValues(options, 'S', 'split-string')
  const { rest, innerCall } = readAssignments(call, options.operands)
  for (const dir of optionValues(options, 'C', 'chdir'))
    innerCall.shell.cwd = innerCall.shell.cwd.map((cwd) => resolvePath(dir, cwd))
  if (split.length > 0) {
    const text = [...split, ...rest.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`)].join(' ')
    // env also reads assignments from the split text.
    judgeCode(innerCall, text.replaceAll('\\_', ' '))
    return 'unknown'
  }
  if (rest.length === 0 && !call.judge.host.isSandboxed) call.ask('env shows all variables, secrets among them')
  return rest.length === 0 ? 'unknown' : judgeInner(innerCall, rest)
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
  const { rest, innerCall } = readAssignments(call, options.operands)
  if (rest.length === 0) return 'unknown'
  return hasOption(options, 's', 'i') ? (judgeCode(innerCall, rest.join(' ')), 'unknown') : judgeInner(innerCall, rest)
}

const su: Policy = (call) => {
  call.ask(`${call.name} runs with the rights of another user`, null)
  const options = readOptions(call.args, { short: 'lmpfP', valued: 'cgGsw', long: 'command= login shell= user=' })
  for (const text of optionValues(options, 'c', 'command')) judgeCode(call, text)
  const user = call.args.findIndex((arg) => arg === '-u' || arg === '--user')
  if (call.name === 'runuser' && user !== -1)
    judgeInner(
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
  checkOptions(call, options)
  const file = optionValues(options, 'a', 'arg-file')[0]
  const input = file === undefined ? call.stdin : getFileContent(call.shell, file)
  if (file !== undefined) checkReads(call, [file])
  const replaced = optionValues(options, 'I', 'J', 'i', 'replace')[0]
  const program = options.operands.length === 0 ? ['echo'] : options.operands
  for (const words of listItems(input, options)) {
    const innerCall = { ...call, stdin: file === undefined ? ('unknown' as const) : call.stdin }
    if (replaced === undefined || replaced === '') judgeInner(innerCall, [...program, ...words])
    else
      for (const word of words)
        judgeInner(
          innerCall,
          program.map((arg) => arg.replaceAll(replaced, () => word)),
        )
  }
  return 'unknown'
}

const maxItems = 64

/** Returns the arguments that xargs adds. Unknown input may contain file names or options. */
function listItems(input: Stream | 'none', options: Options): readonly (readonly Field[])[] {
  const unknown = [[anyCharacters], [hasOption(options, 'I', 'J', 'i', 'replace') ? anyText : anyWords]]
  if (input === 'unknown' || input === 'none') return unknown
  const separator = hasOption(options, '0', 'null') ? /[\0\n]/ : hasOption(options, 'I', 'd') ? /\n/ : /[\s'"]+/
  const lists = input.map((text) => text.split(separator).filter((word) => word !== ''))
  return lists.every((list) => list.length <= maxItems) ? lists : unknown
}

const commandBuiltin: Policy = (call) => {
  const options = readOptions(call.args, { short: 'pvV' }, true)
  if (hasOption(options, 'v', 'V')) return 'unknown'
  checkOptions(call, options)
  // `command` ignores functions and aliases.
  const shell = { ...cloneShell(call.shell), functions: new Map(), aliases: new Map() }
  const output = judgeInner({ ...call, shell }, options.operands, true)
  call.shell.cwd = shell.cwd
  return output
}

const execBuiltin: Policy = (call) => {
  const options = readOptions(call.args, { short: 'cl', valued: 'a' }, true)
  checkOptions(call, options)
  return options.operands.length === 0 ? [''] : judgeInner(call, options.operands)
}

const timeProgram: Policy = (call) => {
  const options = readOptions(
    call.args,
    { short: 'pvaq', valued: 'fo', long: 'verbose portability format= output= append' },
    true,
  )
  checkOptions(call, options)
  checkWrites(call, optionValues(options, 'o', 'output'))
  return judgeInner(call, options.operands)
}

const timeout: Policy = (call) => {
  const options = readOptions(
    call.args,
    { short: 'vfp', valued: 'ks', long: 'kill-after= signal= foreground preserve-status verbose' },
    true,
  )
  checkOptions(call, options)
  return judgeInner(call, options.operands.slice(1))
}

const watch: Policy = (call) => {
  const options = readOptions(
    call.args,
    { short: 'bcdegtwx', valued: 'nq', long: 'interval= differences no-title color errexit chgexit exec precise beep' },
    true,
  )
  checkOptions(call, options)
  if (options.operands.length === 0) return undefined
  if (hasOption(options, 'x', 'exec')) return judgeInner(call, options.operands)
  judgeCode(call, options.operands.join(' '))
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
  checkOptions(call, options)
  const [file = '', ...rest] = options.operands
  if (!/^\d+$/.test(file)) checkWrites(call, [file])
  const code = rest[0] === '-c' || rest[0] === '--command' ? rest[1] : optionValues(options, 'c', 'command')[0]
  if (code !== undefined) judgeCode(call, code)
  else if (rest.length > 0) judgeInner(call, rest)
  return undefined
}

const parallel: Policy = (call) => {
  call.ask('parallel builds commands at run time', null)
  const options = readOptions(call.args, { valued: 'janNI', long: 'jobs= arg-file= max-args=' }, true)
  const at = options.operands.findIndex((word) => /^::::?\+?$/.test(word))
  const program = at === -1 ? options.operands : options.operands.slice(0, at)
  const items = at === -1 ? listItems(call.stdin, options).flat() : options.operands.slice(at + 1)
  for (const item of items.slice(0, maxItems)) {
    const text = program.join(' ')
    judgeCode(call, text.includes('{}') ? text.replaceAll('{}', () => item) : `${text} ${item}`.trim())
  }
  return undefined
}

const script: Policy = (call) => {
  const options = readOptions(call.args, {
    short: 'aefqO',
    valued: 'cEIBTtmo',
    long: 'append command= flush quiet return',
  })
  call.ask('script starts another shell', null)
  for (const text of optionValues(options, 'c', 'command')) judgeCode(call, text)
  if (options.operands.length > 1) judgeInner(call, options.operands.slice(1))
  return undefined
}

/** Judges commands in a container or on another host: findings there are never hardline. */
export function runInContainer(call: Call, start: () => void): void {
  call.judge.containerDepth++
  start()
  call.judge.containerDepth--
}

const ssh: Policy = (call) => {
  const options = readOptions(call.args, { short: '1246AaCfGgKkMNnqsTtVvXxYy', valued: 'BbcDEeFIiJLlmOopQRSWw' }, true)
  const [host = '', ...rest] = options.operands
  call.ask(`ssh works on another machine${host === '' ? '' : `, ${renderField(host)}`}`, null)
  for (const option of optionValues(options, 'o'))
    if (/command|exec/i.test(option)) call.ask(`ssh is given ${renderField(option)}`)
  if (rest.length > 0) judgeCode(call, rest.join(' '))
  return undefined
}

/** Judges a program that a package manager starts from the project: `npx tsc`, `uv run pytest`. */
export function runProjectTool(call: Call, argv: readonly Field[]): void {
  checkProjectCode(call, `${call.name} ${argv.map((arg) => renderField(arg)).join(' ')}`.slice(0, 80))
  const [first, ...rest] = argv.filter((arg, i) => i > 0 || arg !== '--')
  if (first === undefined) return
  const name = first.replace(/(?<!^)@[\w.^~-]+$/, '')
  if (isUnknown(name)) call.ask(`${call.name} starts a program that is only known at run time`)
  else call.judge.judgeCall([name, ...rest], call.shell, call.stdin)
}

const busybox: Policy = (call) =>
  call.args.length === 0 || /^--(help|version|list|list-full)$/.test(call.args[0] ?? '')
    ? undefined
    : judgeInner(call, call.args)

const coverage: Policy = (call) => {
  const [command = '', ...rest] = call.args
  checkProjectCode(call, `${call.name} ${renderField(command)}`)
  if (command === 'run') judgeInner(call, ['python', ...rest])
  else checkArgumentPaths(call)
  return undefined
}

/** at and batch read shell code and run it later. */
const judgeLater: Policy = (call) => {
  call.ask(`${call.name} runs commands later`, null)
  if (call.stdin !== 'none' && call.stdin !== 'unknown') for (const text of call.stdin) judgeCode(call, text)
  return undefined
}

const personality = createWrapper({ short: 'RLB3v' })
const schedulingGrammar = { short: 'abdfioRrv', valued: 'pTPD' }

const tracingReason = 'reads and can change the memory of another program'

export const wrappers: Readonly<Record<string, Policy>> = {
  env,
  sudo,
  doas: createWrapper({ short: 'nsL', valued: 'uCa', reason: 'runs with the rights of another user' }),
  su,
  runuser: su,
  pkexec: createWrapper({ valued: 'u', long: 'user=', reason: 'runs with the rights of another user' }),
  xargs,
  timeout,
  gtimeout: timeout,
  time: timeProgram,
  nohup: createWrapper({}),
  setsid: createWrapper({ short: 'cfw', long: 'ctty fork wait' }),
  nice: createWrapper({ valued: 'n', short: '0123456789', long: 'adjustment=' }),
  ionice: createWrapper({ short: 't', valued: 'cnpPu', long: 'class= classdata= ignore', isOptional: true }),
  chrt: (call) => {
    const [priority = ''] = readOptions(call.args, schedulingGrammar, true).operands
    // Without a priority, some versions take the next word as the program.
    if (!/^\d+$/.test(priority)) call.ask('chrt is given no priority')
    return createWrapper({ ...schedulingGrammar, skippedWords: 1 })(call)
  },
  taskset: createWrapper({ short: 'ac', skippedWords: 1 }),
  stdbuf: createWrapper({ valued: 'ioe', long: 'input= output= error=' }),
  unbuffer: createWrapper({ short: 'p' }),
  command: commandBuiltin,
  builtin: createWrapper({}),
  exec: execBuiltin,
  busybox,
  toybox: busybox,
  chroot: createWrapper({
    long: 'userspec= groups= skip-chdir',
    skippedWords: 1,
    reason: 'changes the root directory',
  }),
  watch,
  flock,
  parallel,
  script,
  ssh,
  setarch: (call) => {
    // An architecture may come before the options.
    const hasArchitecture = call.args[0]?.startsWith('-') === false
    return personality(hasArchitecture ? { ...call, args: call.args.slice(1) } : call)
  },
  // On some systems `arch` starts programs.
  arch: createWrapper({ isOptional: true }),
  linux64: personality,
  linux32: personality,
  unshare: createWrapper({ short: 'mupinUCTfrcS', reason: 'leaves its namespace' }),
  nsenter: createWrapper({
    short: 'mupinUCTa',
    valued: 'tSGrw',
    long: 'target= mount uts ipc net pid user all',
    reason: 'enters the namespace of another process',
  }),
  setpriv: createWrapper({ reason: 'changes the rights of a program' }),
  'systemd-run': createWrapper({ short: 'qtPGdS', valued: 'puM', reason: 'starts a service' }),
  strace: createWrapper({ short: 'cCdDfFhiqrTtVvxyYkwzZ', valued: 'aeoOpPsSuEIXb', reason: tracingReason }),
  ltrace: createWrapper({ short: 'cCfhirSTtV', valued: 'aeolnpsux', reason: tracingReason }),
  valgrind: createWrapper({ reason: tracingReason }),
  fakeroot: createWrapper({ short: 'hvu', reason: 'is not on the list of programs that run without approval' }),
  proot: createWrapper({ valued: 'rbqwk', reason: 'is not on the list of programs that run without approval' }),
  at: judgeLater,
  batch: judgeLater,
  'xvfb-run': createWrapper({ short: 'a', valued: 'n', long: 'auto-servernum server-num=' }),
  'dbus-run-session': createWrapper({}),
  catchsegv: createWrapper({}),
  caffeinate: createWrapper({ short: 'dimsu', valued: 'tw' }),
  coverage,
  noglob: createWrapper({}),
  nocorrect: createWrapper({}),
}
