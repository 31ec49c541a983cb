/** Builtins of the shell that change what comes after them, or that evaluate what they are given. */

import { ANY, isLiteral, NUM, shown, type Field } from './marks.ts'
import { resolvePath } from './paths.ts'
import { runText } from './shells.ts'
import { evalBuiltin, sourceBuiltin, trapBuiltin } from './shells.ts'
import { judgeVariable } from './variables.ts'
import { judgeEvaluated, judgeSubscripts } from './word.ts'
import { clone, type Call, type Policy } from './shell.ts'

const cd: Policy = (call) => {
  const { shell } = call
  const target = call.args.find((arg) => !/^-[LPe@]+$/.test(arg) && arg !== '--')
  const home = shell.vars.get('HOME')?.candidates ?? [call.judge.around.env?.['HOME'] ?? '/home/user']
  const moved =
    target === undefined
      ? home
      : target === '-'
        ? [ANY]
        : shell.cwd.map((cwd) => (target.startsWith('/') ? resolvePath(target, '/') : resolvePath(target, cwd)))
  shell.moved = moved
  // It may fail, and then everything goes on where it was.
  shell.cwd = [...new Set([...moved, ...shell.cwd])]
  return ['']
}

/** popd, dirs: where that is is not followed. */
const popd: Policy = ({ shell }) => {
  shell.moved = undefined
  shell.cwd = [...new Set([...shell.cwd, ANY])]
  return 'unknown'
}

const NAME = /^[A-Za-z_]\w*$/

/** A name where the shell takes a subscript as well, and runs what stands in it. */
function name(call: Call, word: Field): void {
  judgeSubscripts(call, word, call.name)
  if (!NAME.test(word)) call.ask(`${call.name} evaluates ${shown(word)}, which is more than a name`)
}

const ASSIGNED = /^([A-Za-z_]\w*)\+?=([\s\S]*)$/

const declare =
  (exported: boolean): Policy =>
  (call) => {
    for (const word of call.args) {
      if (/^[-+][a-zA-Z]*$/.test(word)) {
        if (word.includes('n')) call.ask(`${call.name} ${word} makes a name stand for another`)
        continue
      }
      const [, variable = '', value = ''] = ASSIGNED.exec(word) ?? []
      if (variable === '') name(call, word)
      else {
        judgeSubscripts(call, value, call.name)
        judgeVariable(call, variable, value, exported || call.args[0]?.includes('x') === true)
        if (!call.shell.vars.get(variable)?.list) call.shell.vars.set(variable, { candidates: [value] })
      }
    }
    return ['']
  }

const unset: Policy = (call) => {
  for (const word of call.args) {
    if (/^-[fvn]$/.test(word)) continue
    name(call, word)
    judgeVariable(call, word, '', false)
    const definition = call.shell.functions.get(word)
    if (definition) call.shell.functions.set(word, { ...definition, certain: false })
    call.shell.vars.set(word, { candidates: [''] })
  }
  return ['']
}

/** read, mapfile: what they set comes from the input. */
const read: Policy = (call) => {
  const names = call.args.slice(readOptions(call))
  const [only = 'REPLY', ...more] = names
  for (const word of [only, ...more]) setUnknown(call, word)
  const line = lineOf(call.stdin)
  // One line is known, and so are its words where they are split as usual.
  const plain =
    call.args.length === names.length + options(call.args) && [only, ...more].every((word) => NAME.test(word))
  if (line !== undefined && plain) setLine(call, [only, ...more], line)
  return ['']
}

function setLine(call: Call, names: readonly Field[], line: string): void {
  const { vars } = call.shell
  if (call.name !== 'read') vars.set(names[0] ?? '', { candidates: [line], list: [line] })
  else if (names.length === 1) vars.set(names[0] ?? '', { candidates: [line] })
  else if (!vars.has('IFS')) {
    const words = line.split(/\s+/)
    names.forEach((word, i) => {
      const held = i === names.length - 1 ? words.slice(i).join(' ') : (words[i] ?? '')
      vars.set(word, { candidates: [held] })
    })
  }
}

/** `-r` changes nothing about a line without backslashes, and `-t` of mapfile takes the ends of lines away. */
const options = (args: readonly Field[]): number => (args[0] === '-r' || args[0] === '-t' ? 1 : 0)

function lineOf(stdin: Call['stdin']): string | undefined {
  if (typeof stdin === 'string' || stdin.length !== 1) return undefined
  const lines = stdin[0]?.split('\n') ?? []
  return lines.length <= 2 ? lines[0]?.trim() : undefined
}

/** How many words at the front are options and their values. */
function readOptions(call: Call): number {
  const { args } = call
  let at = 0
  while (/^-./.test(args[at] ?? '')) {
    const option = args[at++] ?? ''
    if (call.name !== 'read' && option.includes('C')) call.ask(`${call.name} -C runs a command`)
    if (!(call.name === 'read' ? /[adinNptu]$/ : /[dnOsuCc]$/).test(option)) continue
    if (option.endsWith('a')) setUnknown(call, args[at] ?? '')
    at++
  }
  return at
}

function setUnknown(call: Call, word: Field): void {
  name(call, word)
  call.shell.vars.set(word, { candidates: [ANY] })
}

const letBuiltin: Policy = (call) => {
  for (const word of call.args) {
    judgeEvaluated(call, word, 'let')
    if (!/^[\w+\-*/%<>=!&|^~?:(), ]*$/.test(word.replaceAll(NUM, '0'))) call.ask(`let evaluates ${shown(word)}`)
    for (const [, variable = ''] of word.matchAll(/([A-Za-z_]\w*)\s*(?:[-+*/%]?=|\+\+|--)/g))
      call.shell.vars.set(variable, { candidates: [NUM] })
  }
  return ['']
}

const EVALUATED = new Set(['-v', '-R', '-eq', '-ne', '-lt', '-le', '-gt', '-ge'])

/** `[` and `test`: -v takes a subscript, and so do comparisons of numbers. */
const test: Policy = (call) => {
  call.args.forEach((word, i) => {
    const near = [call.args[i - 1], call.args[i + 1]].some((other) => other !== undefined && EVALUATED.has(other))
    if (near) judgeEvaluated(call, word, call.name)
    if (call.args[i - 1] === '-v') name(call, word)
  })
  return ['']
}

const MAX_POSITIONAL = 1_000

const set: Policy = (call) => {
  const at = call.args.indexOf('--')
  const plain = /^[-+][a-zA-Z]/
  if (at !== -1) call.shell.positional = call.args.slice(at + 1)
  else if (call.args.length > 0 && !plain.test(call.args[0] ?? '')) call.shell.positional = call.args
  if ((call.shell.positional?.length ?? 0) > MAX_POSITIONAL) call.shell.positional = undefined
  return call.args.length === 0 ? 'unknown' : ['']
}

const shift: Policy = (call) => {
  const count = Number(call.args[0] ?? '1')
  call.shell.positional = Number.isInteger(count) ? call.shell.positional?.slice(count) : undefined
  return ['']
}

const alias: Policy = (call) => {
  for (const word of call.args) {
    const at = word.indexOf('=')
    if (at === -1) continue
    const body = word.slice(at + 1)
    if (!isLiteral(body)) call.ask('An alias is made that is only known when it runs')
    runText({ ...call, stdin: 'unknown' }, [body], clone(call.shell))
    call.shell.aliases.set(word.slice(0, at), body)
  }
  return ['']
}

const unalias: Policy = () => ['']

/** Options of the shell; those that make it run what it prints are asked about elsewhere (PS4, aliases are followed). */
const shopt: Policy = (call) => {
  if (call.args.some((arg) => !/^[-\w]+$/.test(arg))) call.ask('An option of the shell is only known when it runs')
  return ['']
}

const quiet: Policy = () => ['']
const unknown: Policy = () => 'unknown'

const hash: Policy = (call) => {
  if (call.args.some((arg) => /^-[a-z]*p/.test(arg))) call.ask('hash -p makes a name start another program')
  return ['']
}

const kept =
  (because: string): Policy =>
  (call) => {
    call.ask(`${call.name} ${because}`)
    return undefined
  }

const wait: Policy = (call) => {
  for (const word of call.args) judgeSubscripts(call, word, 'wait')
  if (call.args.some((word) => word.includes('['))) call.ask('wait evaluates a name that is more than a name')
  return ['']
}

const getopts: Policy = (call) => {
  setUnknown(call, call.args[1] ?? '')
  call.shell.vars.set('OPTARG', { candidates: [ANY] })
  return ['']
}

export const builtins: Readonly<Record<string, Policy>> = {
  cd,
  pushd: cd,
  popd,
  pwd: ({ shell }) => shell.cwd.map((cwd) => `${cwd}\n`),
  dirs: unknown,
  export: declare(true),
  declare: declare(false),
  typeset: declare(false),
  local: declare(false),
  readonly: declare(false),
  unset,
  read,
  mapfile: read,
  readarray: read,
  let: letBuiltin,
  test,
  '[': test,
  set,
  shift,
  alias,
  unalias,
  shopt,
  eval: evalBuiltin,
  source: sourceBuiltin,
  '.': sourceBuiltin,
  trap: trapBuiltin,
  hash,
  getopts,
  enable: kept('loads or switches off parts of the shell'),
  complete: kept('makes the shell run commands later'),
  compgen: kept('can run commands'),
  bind: kept('makes keys run commands'),
  fc: kept('runs earlier commands again'),
  history: (call) => {
    if (call.args.some((arg) => /^-\w*[cdwarns]/.test(arg))) call.ask('history changes what is remembered of commands')
    return undefined
  },
  help: unknown,
  wait,
  jobs: unknown,
  fg: quiet,
  bg: quiet,
  disown: quiet,
  return: quiet,
  exit: quiet,
  break: quiet,
  continue: quiet,
  logout: quiet,
  times: unknown,
  umask: (call) => {
    if (call.args.some((arg) => /^0*[0-7]?[0-7]?[0145]$|^[aouw,]*[ao][ugo]*[=+][rx]*w/.test(arg)))
      call.ask('umask lets others write to what is made from now on')
    return undefined
  },
  ulimit: unknown,
  type: unknown,
  caller: unknown,
  suspend: kept('stops the shell'),
}
