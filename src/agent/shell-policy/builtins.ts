/** Judges builtins of the shell: they change its state or evaluate their arguments. */

import { anyNumber, anyText, isLiteral, renderField, type Field } from '#agent/path-policy/field.ts'
import { resolvePath } from '#agent/path-policy/judge-path.ts'
import { getHome } from '#agent/path-policy/vital-paths.ts'
import { decodeBase64, createTranslation, decodeHex, printEcho, printFormat, reverseLines } from './constant-output.ts'
import { judgeEvaluated } from './expansion/expand-word.ts'
import { harmlessBuiltins } from './allow-list/programs.ts'
import { addLiteral, addTransform, addUnknownCode, type Call, type Output } from './shell-state.ts'
import { setVariable } from './simple-command.ts'

type Builtin = (call: Call) => Output

const changeDirectory: Builtin = (call) => {
  const { shell, judge } = call
  const target = call.args.find((word) => !/^-[LPe@]+$/.test(word) && word !== '--')
  const home = shell.vars.get('HOME')?.candidates ?? [getHome(judge.host)]
  const next =
    target === undefined ? home : target === '-' ? [anyText] : shell.cwd.map((cwd) => resolvePath(target, cwd))
  shell.cwdAfterCd = [...new Set(next)]
  // `cd` may fail, so the old directory stays possible.
  shell.cwd = [...new Set([...next, ...shell.cwd])]
  return ''
}

const variableName = /^[A-Za-z_]\w*$/

/** The shell also accepts a subscript after a name, and evaluates it. */
function checkName(call: Call, word: Field): boolean {
  if (variableName.test(word)) return true
  addUnknownCode(call.judge, `${call.name} evaluates ${renderField(word)}, which is more than a name`)
  addLiteral(call.judge, word)
  return false
}

const declare: Builtin = (call) => {
  const flags = call.args.filter((word) => /^[-+][a-zA-Z]+$/.test(word)).join('')
  // An integer evaluates what is assigned to it, now or later.
  if (/[in]/.test(flags)) addUnknownCode(call.judge, `${call.name} ${flags} makes assignments evaluate`)
  const isExported = call.name === 'export' || flags.includes('x')
  for (const word of call.args) if (!/^[-+]/.test(word)) declareOne(call, word, isExported)
  return ''
}

function declareOne(call: Call, word: Field, isExported: boolean): void {
  const [, name, value = ''] = /^([A-Za-z_]\w*)\+?=([^]*)$/.exec(word) ?? []
  addLiteral(call.judge, value)
  if (name === undefined) {
    const { candidates = [anyText] } = call.shell.vars.get(word) ?? {}
    if (checkName(call, word) && isExported) setVariable(call, word, candidates, true)
  } else if (!call.shell.vars.get(name)?.list) setVariable(call, name, [value], isExported)
}

const unset: Builtin = (call) => {
  for (const word of call.args) {
    if (/^-[fvn]$/.test(word) || !checkName(call, word)) continue
    setVariable(call, word, [''], false)
  }
  return ''
}

/** read and mapfile set variables from the input. */
const read: Builtin = (call) => {
  const { args, name, shell } = call
  const at = countReadOptions(call)
  const [line = '', ...more] = call.stdin?.replace(/\n$/, '').split('\n') ?? [anyText, anyText]
  const isPlain = args.slice(0, at).every((word) => /^-[rt]$/.test(word)) && !shell.vars.has('IFS')
  const isKnownLine = isPlain && more.length === 0 && isLiteral(line) && !line.includes('\\')
  const words = line.trim().split(/\s+/)
  const names = at < args.length ? args.slice(at) : ['REPLY']
  names.forEach((word, i) => {
    if (!checkName(call, word)) return
    const value = i === names.length - 1 ? words.slice(i).join(' ') : (words[i] ?? '')
    setVariable(call, word, [isKnownLine ? value : anyText], false)
    if (name !== 'read' && isKnownLine) shell.vars.set(word, { candidates: [line], list: [line] })
  })
  return ''
}

/** Returns how many words at the start are options and their values. */
function countReadOptions(call: Call): number {
  const { args, name } = call
  const valued = name === 'read' ? /[adinNptu]$/ : /[dnOsuCc]$/
  let at = 0
  while (/^-./.test(args[at] ?? '')) {
    const option = args[at++] ?? ''
    const next = args[at] ?? ''
    if (name !== 'read' && /^-\w*C/.test(option)) {
      addUnknownCode(call.judge, `${name} -C runs a command`)
      addLiteral(call.judge, next)
    }
    if (name === 'read' && option.endsWith('a') && checkName(call, next)) setVariable(call, next, [anyText], false)
    if (valued.test(option)) at++
  }
  return at
}

const letBuiltin: Builtin = (call) => {
  for (const word of call.args) {
    judgeEvaluated(call, word.replace(/^\w+\s*=(?!=)/, ''), 'let')
    for (const [, name = ''] of word.matchAll(/(?<!\w)([A-Za-z_]\w*)\s*(?:[-+*/%]?=|\+\+|--)/g))
      setVariable(call, name, [anyNumber], false)
  }
  return ''
}

/** In `[` and `test`, -v evaluates subscripts, and so do numeric comparisons in some shells. */
const test: Builtin = (call) => {
  call.args.forEach((word, i) => {
    if (/^-[vR]$/.test(call.args[i - 1] ?? '') && call.args.length < 5 && !/^[=!<>-]/.test(call.args[i + 1] ?? ''))
      checkName(call, word)
    const isCompared = [call.args[i - 1], call.args[i + 1]].some((other) => /^-(eq|ne|lt|le|gt|ge)$/.test(other ?? ''))
    if (isCompared && /[[`]|\$\(/.test(word)) judgeEvaluated(call, word, call.name)
  })
  return ''
}

const set: Builtin = (call) => {
  const [first = ''] = call.args
  const flags = call.args.filter((word) => /^-[a-zA-Z]+$/.test(word)).join('')
  if (flags.includes('a') || call.args.includes('allexport')) call.ask('set -a passes all variables to programs')
  if (/^[\uE000-\uE003]/.test(first)) call.ask('Options of the shell are only known at run time')
  addLiteral(call.judge, call.args.filter((word) => word !== '--').join(' '))
  return ''
}

const alias: Builtin = (call) => {
  for (const word of call.args) {
    const [, name = '', body = ''] = /^([^=]+)=([^]*)$/.exec(word) ?? []
    if (name === '') continue
    call.ask(`alias changes what ${renderField(name)} does`)
    call.shell.aliases.set(name, body)
    addLiteral(call.judge, body)
    call.judge.walkText(call, body.replace(/[\uE000-\uE003]/g, ''))
  }
  return ''
}

const getopts: Builtin = (call) => {
  const [, name = ''] = call.args
  if (checkName(call, name)) setVariable(call, name, [anyText], false)
  call.shell.vars.set('OPTARG', { candidates: [anyText] })
  return ''
}

const asks =
  (reason: string): Builtin =>
  (call) => {
    addUnknownCode(call.judge, `${call.name} ${reason}`)
    addLiteral(call.judge, call.args.join(' '))
    for (const word of call.args) addLiteral(call.judge, word)
    return undefined
  }

const wait: Builtin = (call) => {
  for (const word of call.args) if (!/^-?\w*$|^%/.test(word.replaceAll('\uE004', '0'))) checkName(call, word)
  return ''
}

const printf: Builtin = (call) => {
  const { args } = call
  if (!args[0]?.startsWith('-v')) return capture(call, printFormat(args[0] === '--' ? args.slice(1) : args))
  const [name = '', words] = args[0] === '-v' ? [args[1], args.slice(2)] : [args[0]?.slice(2), args.slice(1)]
  const value = printFormat(words)
  if (value !== undefined) addLiteral(call.judge, value)
  if (checkName(call, name)) setVariable(call, name, [value ?? anyText], false)
  return ''
}

/** Output that goes to a pipe, a file or a variable may become code. */
function capture(call: Call, output: Output): Output {
  if (call.captured || call.judge.written.size > 0) {
    for (const word of call.args) addLiteral(call.judge, word)
    if (output !== undefined) addLiteral(call.judge, output)
  }
  return output
}

const decoder =
  (decode: (call: Call) => ((text: string) => Output) | undefined): Builtin =>
  (call) => {
    const transform = decode(call)
    if (transform) addTransform(call.judge, [call.name, ...call.args].join(' '), transform)
    call.judge.remainingSteps -= (call.stdin?.length ?? 0) >> 8
    if (call.stdin === undefined || !isLiteral(call.stdin) || !transform) return undefined
    const output = transform(call.stdin)
    // Decoded text is readable to nobody who approves the line.
    if (output !== undefined) addLiteral(call.judge, output)
    return output
  }

const builtins: Readonly<Record<string, Builtin>> = {
  cd: changeDirectory,
  pushd: changeDirectory,
  popd: (call) => {
    call.shell.cwd = [...new Set([...call.shell.cwd, anyText])]
    return undefined
  },
  pwd: ({ shell }) => (shell.cwd.length === 1 ? `${shell.cwd[0] ?? ''}\n` : undefined),
  export: declare,
  declare,
  typeset: declare,
  local: declare,
  readonly: declare,
  unset,
  read,
  mapfile: read,
  readarray: read,
  let: letBuiltin,
  test,
  '[': test,
  set,
  alias,
  getopts,
  wait,
  printf,
  echo: (call) => capture(call, printEcho(call.args)),
  shopt: (call) => {
    if (call.args.some((word) => !/^[-\w]+$/.test(word))) call.ask('An option of the shell is only known at run time')
    return ''
  },
  hash: (call) => {
    if (call.args.some((word) => /^-[a-z]*p/.test(word))) call.ask('hash -p makes a name start another program')
    return ''
  },
  enable: asks('loads or switches off parts of the shell'),
  complete: asks('makes the shell run commands later'),
  compgen: asks('can run commands'),
  bind: asks('makes keys run commands'),
  fc: asks('runs earlier commands again'),
  suspend: asks('stops the shell'),
  history: (call) => {
    if (call.args.some((word) => /^-\w*[cdwarns]/.test(word))) call.ask('history changes the list of earlier commands')
    return undefined
  },
  umask: (call) => {
    if (call.args.some((word) => /^0*[0-7]?[0-7]?[0145]$|^(?=[^=+]*[ao])[augow,]*[=+][rx]*w/.test(word)))
      call.ask('umask lets others write to new files')
    return undefined
  },
  help: () => undefined,
}

/** Programs whose output follows from their input. The allow-list judges their options. */
const decoders: Readonly<Record<string, Builtin>> = {
  cat: (call) => (call.args.every((word) => word === '-') ? call.stdin : undefined),
  rev: decoder(() => reverseLines),
  tr: decoder(({ args }) => createTranslation(args)),
  base64: decoder(({ args }) => (args.some((word) => /^(-d|-D|-di|--decode)$/.test(word)) ? decodeBase64 : undefined)),
  openssl: decoder(({ args }) => (args.includes('-d') ? decodeBase64 : undefined)),
  xxd: decoder(({ args }) =>
    args.some((word) => /^-\w*r/.test(word)) && args.some((word) => /^-\w*p/.test(word)) ? decodeHex : undefined,
  ),
  tee: (call) => call.stdin,
  date: ({ args }) => (/^\+%[sYmdHMSj]$/.test(args[0] ?? '') ? anyNumber : undefined),
  wc: () => anyNumber,
  nproc: () => anyNumber,
  id: ({ args }) => (/^-[ug]$/.test(args[0] ?? '') ? anyNumber : undefined),
  seq: () => anyNumber,
  grep: ({ args }) => (args.some((word) => /^-\w*c/.test(word)) ? anyNumber : undefined),
  mktemp: ({ args }) => (args.includes('-u') ? undefined : '/tmp/tmp.new'),
}

export const findBuiltin = (name: string): Builtin | undefined => {
  if (Object.hasOwn(builtins, name)) return builtins[name]
  return harmlessBuiltins.has(name) ? () => '' : undefined
}

export const findPrinter = (name: string): Builtin | undefined =>
  Object.hasOwn(decoders, name) ? decoders[name] : undefined
