/** Judges programs that start another program by that program, and shells by their code. */

import {
  anyText,
  anyWords,
  isGlob,
  isKnown,
  isUnknown,
  marks,
  renderField,
  type Field,
} from '#agent/path-policy/field.ts'
import { listNamesIn } from './listings.ts'
import { setVariable } from './simple-command.ts'
import { checkValue, judgeRun } from './judge-run.ts'
import { parseGrammar, readOptions, type Grammar, type CommandOptions } from './match-options.ts'
import { decodeEscapes } from './constant-output.ts'
import { findInWords } from './scan-literals.ts'
import { addHiddenCode, addLiteral, type SimpleCommand, type CommandOutput } from './shell-state.ts'

type Wrapper = {
  readonly grammar: Grammar
  /** Words between the options and the program. */
  readonly skipped: number
  readonly reason?: string
}

const wrap = (notation: string, skipped = 0, reason?: string): Wrapper => ({
  grammar: parseGrammar(`+${notation}`),
  skipped,
  ...(reason !== undefined && { reason }),
})

const otherUser = 'runs with the rights of another user'
const otherPlace = 'leaves its namespace'
const tracing = 'reads and can change the memory of another program'

const wrappers: Readonly<Record<string, Wrapper>> = {
  timeout: wrap('v f k= s= | kill-after= signal= preserve-status foreground verbose', 1),
  gtimeout: wrap('v f k= s= | kill-after= signal= preserve-status foreground verbose', 1),
  time: wrap('p v f= o> a'),
  nohup: wrap(''),
  setsid: wrap('cfw | ctty fork wait'),
  nice: wrap('# n= | adjustment='),
  ionice: wrap('t c= n= | class= classdata= ignore'),
  taskset: wrap('ac', 1),
  stdbuf: wrap('i= o= e= | input= output= error='),
  unbuffer: wrap('p'),
  command: wrap('p'),
  builtin: wrap(''),
  exec: wrap('c l a='),
  busybox: wrap(''),
  toybox: wrap(''),
  'xvfb-run': wrap('a n= | auto-servernum server-num='),
  'dbus-run-session': wrap(''),
  catchsegv: wrap(''),
  caffeinate: wrap('dimsu t= w='),
  noglob: wrap(''),
  linux64: wrap('RLB3v'),
  linux32: wrap('RLB3v'),
  sudo: wrap('EHniSkbAPKV u= g= C= p= r= t= h= T= U= D= R= | user= group= login preserve-env?', 0, otherUser),
  doas: wrap('n s L u= C= a=', 0, otherUser),
  pkexec: wrap('u= | user=', 0, otherUser),
  chroot: wrap('| userspec= groups= skip-chdir', 1, 'changes the root directory'),
  unshare: wrap('mupinUCTfrcS', 0, otherPlace),
  nsenter: wrap('muinpUCTa t= S= G= r= w= | target= mount uts ipc net pid user all', 0, otherPlace),
  strace: wrap('cCdDfFhiqrTtVvxyYkwzZ a= e= o> O= p= P= s= S= u= E= I= X= b=', 0, tracing),
  ltrace: wrap('cCfhirSTtV a= e= o> l= n= p= s= u= x=', 0, tracing),
  chrt: wrap('a b d f i o R r v p= T= P= D=', 1),
  setarch: wrap('R L B 3 v', 0),
}

const startInner = (call: SimpleCommand, argv: readonly Field[], stdin: CommandOutput = call.stdin): CommandOutput =>
  argv.length === 0 ? undefined : call.judge.judgeVector(call, argv, stdin)

function judgeWrapper(call: SimpleCommand, { grammar, skipped, reason }: Wrapper): CommandOutput {
  const { args, name } = call
  if (isLookup(name, args)) return undefined
  const hasArchitecture = name === 'setarch' && args[0]?.startsWith('-') === false
  const { problem, operands, values } = readOptions(hasArchitecture ? args.slice(1) : args, grammar)
  if (problem !== undefined) call.ask(`${name} is given ${problem}`, null)
  if (reason !== undefined) call.ask(`${name} ${reason}`, null)
  for (const { value, role } of values) checkValue(call, value, role)
  if (name === 'chrt' && !/^\d+ ./.test(operands.join(' '))) call.ask('chrt changes a running program')
  return startInner(call, operands.slice(operands[skipped] === '--' ? skipped + 1 : skipped))
}

/** Whether only help or the path of a program is asked for. */
const isLookup = (name: string, args: readonly Field[]): boolean =>
  (name === 'command' && /^-[pvV]*[vV]/.test(args[0] ?? '')) ||
  (args.length > 0 && args.every((word) => helpOption.test(word)))

const helpOption = /^--(help|version|list|list-full)$/

/** Judges env: it sets variables, changes the directory and splits texts. */
function judgeEnv(call: SimpleCommand): CommandOutput {
  const { shell } = call
  const options = readOptions(
    call.args,
    parseGrammar('+i0v u= C= S= | ignore-environment unset= chdir= split-string= null'),
  )
  if (options.problem !== undefined) call.ask(`env is given ${options.problem}`, null)
  const { vars, cwd } = shell
  shell.vars = new Map(vars)
  for (const { name, value } of options.values) {
    if (/^(C|chdir)$/.test(name)) startInner(call, ['cd', value])
    if (/^(S|split-string)$/.test(name)) call.judge.walkText(call, value, call.stdin)
    if (/^(u|unset)$/.test(name)) setVariable(call, value, [''], true)
  }
  const words = [...options.operands]
  while (/^\w+=/.test(words[0] ?? '')) {
    const [, name = '', value = ''] = /^(\w+)=([^]*)$/.exec(words.shift() ?? '') ?? []
    setVariable(call, name, [value], true)
  }
  const output = startInner(call, words)
  shell.vars = vars
  shell.cwd = cwd
  return output
}

const xargsGrammar = parseGrammar(
  '+0rtpxo n= P= L= l I= i a< d= s= E= e | null no-run-if-empty verbose max-args= max-procs= max-lines= replace? arg-file< delimiter= max-chars=',
)

/** Judges xargs: words that it reads become arguments, and may be options. */
function judgeXargs(call: SimpleCommand): CommandOutput {
  const { stdin } = call
  const options = readOptions(call.args, xargsGrammar)
  if (options.problem !== undefined) call.ask(`xargs is given ${options.problem}`, null)
  for (const { value, role } of options.values) checkValue(call, value, role)
  const words = options.operands.length > 0 ? options.operands : ['echo']
  const fromFile = options.values.some(({ name }) => /^(a|arg-file)$/.test(name))
  if (stdin !== undefined) addLiteral(call.judge, [...words, stdin].join(' '))
  const items = fromFile ? [anyWords] : listItems(stdin, options)
  return startInner(call, fillWords(words, items, options), fromFile ? stdin : undefined)
}

/** Returns the items of the input of xargs, as far as they are known. */
function listItems(stdin: CommandOutput, options: CommandOptions): readonly Field[] {
  if (stdin === undefined || isUnknown(stdin)) return listNamesIn(stdin) ?? [anyWords]
  // Wildcards of `echo *` stay wildcards.
  const items = isGlob(stdin) ? stdin.split(/[\s\0]+/) : splitItems(stdin, options)
  return items.filter((item) => item !== '')
}

function splitItems(stdin: string, { names, values }: CommandOptions): readonly string[] {
  const delimiter = values.find(({ name }) => /^(d|delimiter)$/.test(name))?.value
  const isByLine = names.has('i') || values.some(({ name }) => /^(I|replace|L|max-lines)$/.test(name))
  if (names.has('0') || names.has('null')) return stdin.split('\0')
  if (delimiter !== undefined) return stdin.split(decodeEscapes(delimiter))
  // Quotes and backslashes join words.
  const items = stdin.match(isByLine ? /[^\n]+/g : /(?:"[^"\n]*"|'[^'\n]*'|\\[\s\S]|[^\s"'\\])+/g) ?? []
  return items.map((item) => item.trim().replace(/"([^"\n]*)"|'([^'\n]*)'|\\([\s\S])/g, '$1$2$3'))
}

function fillWords(
  words: readonly Field[],
  items: readonly Field[],
  { names, values }: CommandOptions,
): readonly Field[] {
  const given = values.find(({ name }) => /^(I|replace)$/.test(name))?.value
  const mark = given ?? (names.has('i') || names.has('replace') ? '{}' : undefined)
  if (mark === undefined || mark === '') return [...words, ...items]
  const [only = anyText, ...more] = items
  return words.map((word) => (word.includes(mark) ? word.replaceAll(mark, more.length > 0 ? anyText : only) : word))
}

const shellNames = /^(ba|da|z|k|mk|a|rba|ya|c|tc|fi)?sh$/

type ShellFlags = { isCode: boolean; readsInput: boolean }

function judgeShell(call: SimpleCommand): CommandOutput {
  const { args, judge } = call
  const flags: ShellFlags = { isCode: false, readsInput: false }
  let at = 0
  while (/^[-+]./.test(args[at] ?? '') && args[at] !== '--') at += readOption(call, args, at, flags)
  const words = args.slice(/^--?$/.test(args[at] ?? '') ? at + 1 : at)
  const [first, ...rest] = words
  for (const text of [rest.join(' '), ...words]) addLiteral(judge, text)
  if (flags.isCode) return runCode(call, first, rest)
  if (first === undefined || flags.readsInput || first === '/dev/stdin') return runInput(call)
  return judgeRun(call, first, rest)
}

/** Runs code with its words as `$0`, `$1` and so on. */
function runCode(call: SimpleCommand, code: Field | undefined, words: readonly Field[]): CommandOutput {
  const { shell } = call
  const { vars } = shell
  shell.vars = new Map(vars)
  const isFixed = !words.some((word) => word.includes(anyWords))
  if (isFixed) words.slice(0, 10).forEach((word, i) => shell.vars.set(`${i}`, { candidates: [word] }))
  const output = runText(call, code)
  shell.vars = vars
  return output
}

function runInput(call: SimpleCommand): CommandOutput {
  if (call.stdin === undefined && /^--(version|help)$/.test(call.args[0] ?? '')) return undefined
  call.ask(`${call.name} runs its input`, null)
  return runText(call, call.stdin)
}

const harmlessShellOption = /^--(norc|noprofile|posix|version|help|restricted|verbose)$/

/** Options of fish that are code, and run before other code. */
const fishCode = /^(?:--(?:init-command|command)|-C)(?:=([^]*))?$/

/** Returns how many words the option takes; undefined for another option. */
function runFishCode(call: SimpleCommand, option: Field, next: Field | undefined): number | undefined {
  const found = call.name === 'fish' ? fishCode.exec(option) : null
  if (!found) return undefined
  runText(call, found[1] ?? next)
  return found[1] === undefined ? 2 : 1
}

/** Returns how many words an option takes. */
const readOption = (call: SimpleCommand, args: readonly Field[], at: number, flags: ShellFlags): number =>
  runFishCode(call, args[at] ?? '', args[at + 1]) ?? readShellOption(call, args, at, flags)

function readShellOption(call: SimpleCommand, args: readonly Field[], at: number, flags: ShellFlags): number {
  const word = args[at] ?? ''
  if (/^--(rcfile|init-file)$/.test(word)) {
    call.ask(`${call.name} is given ${renderField(word)}`, null)
    judgeRun(call, args[at + 1] ?? '', [])
    return 2
  }
  if (word === '--login' || /^-[a-z]*[il]/.test(word)) addHiddenCode(call.judge, `${call.name} runs its start files`)
  else if (word.startsWith('--') && !harmlessShellOption.test(word))
    call.ask(`${call.name} is given ${renderField(word)}`, null)
  if (word.startsWith('--')) return 1
  if (/^-[a-z]*c/i.test(word)) flags.isCode = true
  if (/^-[a-z]*s/.test(word)) flags.readsInput = true
  return /[oO]$/.test(word) ? 2 : 1
}

/** Judges a text as a script. An unknown part of it may be any code. */
function runText(call: SimpleCommand, text: CommandOutput): CommandOutput {
  if (text === undefined || !isKnown(text)) {
    addHiddenCode(
      call.judge,
      `${call.name} runs shell code that is only known at run time${text === undefined ? '' : `: ${renderField(text).slice(0, 120)}`}`,
    )
    if (text !== undefined) addLiteral(call.judge, text)
  }
  if (text === undefined) return undefined
  addLiteral(call.judge, text)
  return call.judge.walkText(call, text.replace(marks, ''), call.stdin)
}

function judgeEval(call: SimpleCommand): CommandOutput {
  const words = call.args[0] === '--' ? call.args.slice(1) : call.args
  return words.length === 0 ? '' : runText(call, words.join(' '))
}

function judgeSource(call: SimpleCommand): CommandOutput {
  const [first = '', ...rest] = call.args[0] === '--' ? call.args.slice(1) : call.args
  if (first === '/dev/stdin' || first === '-') return runText(call, call.stdin)
  return judgeRun(call, first, rest)
}

/** Judges a handler that runs later, now and with anything that the line has set. */
function judgeTrap(call: SimpleCommand): CommandOutput {
  const [code, ...signals] = call.args[0] === '--' ? call.args.slice(1) : call.args
  if (code === undefined || code === '-' || code === '' || /^-[lp]+$/.test(code) || signals.length === 0) return ''
  if (signals.some((signal) => /^(DEBUG|RETURN|ERR)$/i.test(signal)))
    call.ask('trap runs commands between other commands', null)
  runText(call, code)
  return ''
}

/** Programs whose argument after an option, or whose arguments joined, are shell code. */
function judgeCodeArgument(call: SimpleCommand): CommandOutput {
  const { args, name } = call
  const at = args.findIndex((word) => /^-[a-z]*c$|^--command$/.test(word))
  const words = args.filter((word) => !word.startsWith('-'))
  call.ask(`${name} runs commands for others, later, or elsewhere`, null)
  const first = args.findIndex((word) => !word.startsWith('-'))
  const inner = args.slice(first + (/^(ssh|flock)$/.test(name) ? 1 : 0))
  const code = at === -1 ? inner.join(' ') : (args[at + 1] ?? '')
  if (at === -1 && inner.length > 1) startInner(call, inner, undefined)
  const reason = findInWords(args, { host: call.judge.host, cwd: call.shell.cwd, work: call.judge })
  if (reason !== undefined) call.refuse(reason)
  addLiteral(call.judge, words.join(' '))
  if (call.stdin !== undefined) addLiteral(call.judge, call.stdin)
  call.judge.hasUnknownCode = true
  return code === '' ? undefined : call.judge.walkText(call, code.replace(marks, ''), undefined)
}

const codeArguments = new Set(
  'su runuser ssh watch script flock parallel at batch capsh systemd-run newgrp sg screen entr inotifywait'.split(' '),
)

/** Returns undefined when the program is no wrapper. */
export function findWrapper(name: string): ((call: SimpleCommand) => CommandOutput) | undefined {
  if (shellNames.test(name)) return judgeShell
  const special: Readonly<Record<string, (call: SimpleCommand) => CommandOutput>> = {
    env: judgeEnv,
    xargs: judgeXargs,
    eval: judgeEval,
    source: judgeSource,
    '.': judgeSource,
    trap: judgeTrap,
  }
  if (Object.hasOwn(special, name)) return special[name]
  if (codeArguments.has(name)) return judgeCodeArgument
  const wrapper = Object.hasOwn(wrappers, name) ? wrappers[name] : undefined
  return wrapper && ((call) => (name === 'exec' && call.args.length === 0 ? '' : judgeWrapper(call, wrapper)))
}
