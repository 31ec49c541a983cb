/** Judges builtins of the shell: they change its state or evaluate their arguments. */

import { anyText, isLiteral, anyNumber, renderField, type Field } from './field.ts'
import { resolvePath } from './path-zones.ts'
import { judgeText } from './nested-shells.ts'
import { evalBuiltin, sourceBuiltin, trapBuiltin } from './nested-shells.ts'
import { judgeVariable } from './judge-variables.ts'
import { judgeEvaluated, judgeSubscripts } from './expand-word.ts'
import { cloneShell, type Call, type Policy } from './shell-state.ts'

const cd: Policy = (call) => {
  const { shell } = call
  const target = call.args.find((arg) => !/^-[LPe@]+$/.test(arg) && arg !== '--')
  const home = shell.vars.get('HOME')?.candidates ?? [call.judge.host.env?.['HOME'] ?? '/home/user']
  const newCwd =
    target === undefined
      ? home
      : target === '-'
        ? [anyText]
        : shell.cwd.map((cwd) => (target.startsWith('/') ? resolvePath(target, '/') : resolvePath(target, cwd)))
  shell.cwdAfterCd = newCwd
  // `cd` may fail, so the old directory stays possible.
  shell.cwd = [...new Set([...newCwd, ...shell.cwd])]
  return ['']
}

/** The directory stack is not tracked. */
const popd: Policy = ({ shell }) => {
  shell.cwdAfterCd = undefined
  shell.cwd = [...new Set([...shell.cwd, anyText])]
  return 'unknown'
}

const variableName = /^[A-Za-z_]\w*$/

/** The shell also accepts a subscript after a name, and runs substitutions in it. */
function checkName(call: Call, word: Field): void {
  judgeSubscripts(call, word, call.name)
  if (!variableName.test(word)) call.ask(`${call.name} evaluates ${renderField(word)}, which is more than a name`)
}

const assignmentPattern = /^([A-Za-z_]\w*)\+?=([\s\S]*)$/

const createDeclaration =
  (exported: boolean): Policy =>
  (call) => {
    for (const word of call.args) {
      if (/^[-+][a-zA-Z]*$/.test(word)) {
        if (word.includes('n')) call.ask(`${call.name} ${word} makes a name stand for another`)
        continue
      }
      const [, variable = '', value = ''] = assignmentPattern.exec(word) ?? []
      if (variable === '') checkName(call, word)
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
    checkName(call, word)
    judgeVariable(call, word, '', false)
    const definition = call.shell.functions.get(word)
    if (definition) call.shell.functions.set(word, { ...definition, isCertain: false })
    call.shell.vars.set(word, { candidates: [''] })
  }
  return ['']
}

/** read and mapfile set variables from the input. */
const read: Policy = (call) => {
  const names = call.args.slice(readOptionWords(call))
  const [only = 'REPLY', ...more] = names
  for (const word of [only, ...more]) setUnknown(call, word)
  const line = getSingleLine(call.stdin)
  // A single known line gives known values.
  const isPlain =
    call.args.length === names.length + countOptionWords(call.args) &&
    [only, ...more].every((word) => variableName.test(word))
  if (line !== undefined && isPlain) setVariables(call, [only, ...more], line)
  return ['']
}

function setVariables(call: Call, names: readonly Field[], line: string): void {
  const { vars } = call.shell
  if (call.name !== 'read') vars.set(names[0] ?? '', { candidates: [line], list: [line] })
  else if (names.length === 1) vars.set(names[0] ?? '', { candidates: [line] })
  else if (!vars.has('IFS')) {
    const words = line.split(/\s+/)
    names.forEach((word, i) => {
      const value = i === names.length - 1 ? words.slice(i).join(' ') : (words[i] ?? '')
      vars.set(word, { candidates: [value] })
    })
  }
}

/** `-r` does not change a line without backslashes. `-t` of mapfile removes line ends. */
const countOptionWords = (args: readonly Field[]): number => (args[0] === '-r' || args[0] === '-t' ? 1 : 0)

function getSingleLine(stdin: Call['stdin']): string | undefined {
  if (typeof stdin === 'string' || stdin.length !== 1) return undefined
  const lines = stdin[0]?.split('\n') ?? []
  return lines.length <= 2 ? lines[0]?.trim() : undefined
}

/** Returns how many words at the start are options and their values. */
function readOptionWords(call: Call): number {
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
  checkName(call, word)
  call.shell.vars.set(word, { candidates: [anyText] })
}

const letBuiltin: Policy = (call) => {
  for (const word of call.args) {
    judgeEvaluated(call, word, 'let')
    if (!/^[\w+\-*/%<>=!&|^~?:(), ]*$/.test(word.replaceAll(anyNumber, '0')))
      call.ask(`let evaluates ${renderField(word)}`)
    for (const [, variable = ''] of word.matchAll(/([A-Za-z_]\w*)\s*(?:[-+*/%]?=|\+\+|--)/g))
      call.shell.vars.set(variable, { candidates: [anyNumber] })
  }
  return ['']
}

const evaluatingOperators = new Set(['-v', '-R', '-eq', '-ne', '-lt', '-le', '-gt', '-ge'])

/** In `[` and `test`, -v and numeric comparisons evaluate subscripts. */
const test: Policy = (call) => {
  call.args.forEach((word, i) => {
    const isOperand = [call.args[i - 1], call.args[i + 1]].some(
      (other) => other !== undefined && evaluatingOperators.has(other),
    )
    if (isOperand) judgeEvaluated(call, word, call.name)
    if (call.args[i - 1] === '-v') checkName(call, word)
  })
  return ['']
}

const maxPositional = 1_000

const set: Policy = (call) => {
  const at = call.args.indexOf('--')
  const isPlain = /^[-+][a-zA-Z]/
  if (at !== -1) call.shell.positional = call.args.slice(at + 1)
  else if (call.args.length > 0 && !isPlain.test(call.args[0] ?? '')) call.shell.positional = call.args
  if ((call.shell.positional?.length ?? 0) > maxPositional) call.shell.positional = undefined
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
    if (!isLiteral(body)) call.ask('An alias is made that is only known at run time')
    judgeText({ ...call, stdin: 'unknown' }, [body], cloneShell(call.shell))
    call.shell.aliases.set(word.slice(0, at), body)
  }
  return ['']
}

const unalias: Policy = () => ['']

/** Options of the shell need no approval. Variables such as PS4 are judged on assignment. */
const shopt: Policy = (call) => {
  if (call.args.some((arg) => !/^[-\w]+$/.test(arg))) call.ask('An option of the shell is only known at run time')
  return ['']
}

const printsNothing: Policy = () => ['']
const printsUnknown: Policy = () => 'unknown'

const hash: Policy = (call) => {
  if (call.args.some((arg) => /^-[a-z]*p/.test(arg))) call.ask('hash -p makes a name start another program')
  return ['']
}

const alwaysAsk =
  (reason: string): Policy =>
  (call) => {
    call.ask(`${call.name} ${reason}`)
    return undefined
  }

const wait: Policy = (call) => {
  for (const word of call.args) judgeSubscripts(call, word, 'wait')
  if (call.args.some((word) => word.includes('['))) call.ask('wait evaluates more than a name')
  return ['']
}

const getopts: Policy = (call) => {
  setUnknown(call, call.args[1] ?? '')
  call.shell.vars.set('OPTARG', { candidates: [anyText] })
  return ['']
}

export const builtins: Readonly<Record<string, Policy>> = {
  cd,
  pushd: cd,
  popd,
  pwd: ({ shell }) => shell.cwd.map((cwd) => `${cwd}\n`),
  dirs: printsUnknown,
  export: createDeclaration(true),
  declare: createDeclaration(false),
  typeset: createDeclaration(false),
  local: createDeclaration(false),
  readonly: createDeclaration(false),
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
  enable: alwaysAsk('loads or switches off parts of the shell'),
  complete: alwaysAsk('makes the shell run commands later'),
  compgen: alwaysAsk('can run commands'),
  bind: alwaysAsk('makes keys run commands'),
  fc: alwaysAsk('runs earlier commands again'),
  history: (call) => {
    if (call.args.some((arg) => /^-\w*[cdwarns]/.test(arg))) call.ask('history changes the list of earlier commands')
    return undefined
  },
  help: printsUnknown,
  wait,
  jobs: printsUnknown,
  fg: printsNothing,
  bg: printsNothing,
  disown: printsNothing,
  return: printsNothing,
  exit: printsNothing,
  break: printsNothing,
  continue: printsNothing,
  logout: printsNothing,
  times: printsUnknown,
  umask: (call) => {
    if (call.args.some((arg) => /^0*[0-7]?[0-7]?[0145]$|^[aouw,]*[ao][ugo]*[=+][rx]*w/.test(arg)))
      call.ask('umask lets others write to new files')
    return undefined
  },
  ulimit: printsUnknown,
  type: printsUnknown,
  caller: printsUnknown,
  suspend: alwaysAsk('stops the shell'),
}
