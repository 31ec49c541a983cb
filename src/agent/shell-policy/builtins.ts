/** Judges builtins of the shell: they change its state or evaluate their arguments. */

import {
  anyNumber,
  anyText,
  isGlob,
  isLiteral,
  isUnknown,
  marks,
  renderField,
  type Field,
} from '#agent/path-policy/field.ts'
import { resolvePath } from '#agent/path-policy/judge-path.ts'
import { getHome } from '#agent/path-policy/vital-paths.ts'
import {
  createTranslation,
  decodeBase32,
  decodeBase64,
  decodeHex,
  printEcho,
  printFormat,
  reverseLines,
} from './constant-output.ts'
import { judgeEvaluated } from './expansion/expand-word.ts'
import { harmlessBuiltins } from './allow-list/programs.ts'
import {
  addHiddenCode,
  addLiteral,
  addTransform,
  addUnknownCode,
  type SimpleCommand,
  type CommandOutput,
} from './shell-state.ts'
import { listBelow } from './listed-secrets.ts'
import { addListing, listNamesIn, passLines } from './listings.ts'
import { listFindOutput } from './check-text-programs.ts'
import { setVariable } from './simple-command.ts'

type Builtin = (call: SimpleCommand) => CommandOutput

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
function checkName(call: SimpleCommand, word: Field): boolean {
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

function declareOne(call: SimpleCommand, word: Field, isExported: boolean): void {
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
  const [listed = anyText] = listNamesIn(call.stdin) ?? []
  const words = line.trim().split(/\s+/)
  const names = at < args.length ? args.slice(at) : ['REPLY']
  names.forEach((word, i) => {
    if (!checkName(call, word)) return
    const value = i === names.length - 1 ? words.slice(i).join(' ') : (words[i] ?? '')
    setVariable(call, word, [isKnownLine ? value : listed], false)
    if (name !== 'read' && isKnownLine) shell.vars.set(word, { candidates: [line], list: [line] })
  })
  return ''
}

/** Returns how many words at the start are options and their values. */
function countReadOptions(call: SimpleCommand): number {
  const { args, name } = call
  const valued = name === 'read' ? /[adinNptu]$/ : /[dnOsuCc]$/
  let at = 0
  while (/^-./.test(args[at] ?? '')) {
    const option = args[at++] ?? ''
    const next = args[at] ?? ''
    if (name !== 'read' && /^-\w*C/.test(option)) {
      call.ask(`${name} -C runs a command`)
      judgeLater(call, next)
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
  if (isUnknown(first[0] ?? '') || isGlob(first[0] ?? '')) call.ask('Options of the shell are only known at run time')
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
    call.judge.walkText(call, body.replace(marks, ''))
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

/** Judges code that the shell runs at another time. */
function judgeLater(call: SimpleCommand, code: Field): void {
  addLiteral(call.judge, code)
  call.judge.walkText(call, code.replace(marks, ''))
}

/** `fc` runs lines that only the history holds. */
const fc: Builtin = (call) => {
  if (call.args.some((word) => /^-\w*l/.test(word))) return undefined
  addHiddenCode(call.judge, 'fc runs earlier commands again')
  const at = call.args.indexOf('-e')
  if (at >= 0) judgeLater(call, call.args[at + 1] ?? '')
  for (const word of call.args) addLiteral(call.judge, word.replace(/^[^=]*=/, ''))
  return undefined
}

/** A name that the shell starts as another program from now on. */
const hash: Builtin = (call) => {
  const at = call.args.findIndex((word) => /^-[a-z]*p/.test(word))
  if (at === -1) return ''
  const joined = (call.args[at] ?? '').replace(/^-[a-z]*?p/, '')
  const [path = '', name = ''] = joined === '' ? call.args.slice(at + 1) : [joined, ...call.args.slice(at + 1)]
  call.ask(`hash -p makes ${renderField(name)} start ${renderField(path)}`)
  call.shell.aliases.set(name, path)
  return ''
}

const jobs: Builtin = (call) => {
  const at = call.args.findIndex((word) => /^-[a-z]*x/.test(word))
  return at === -1 ? undefined : call.judge.judgeVector(call, call.args.slice(at + 1), call.stdin)
}

/** `-C` runs a command, and so do the other options later. */
const complete: Builtin = (call) => {
  const at = call.args.findIndex((word) => /^-\w*C/.test(word))
  addUnknownCode(call.judge, `${call.name} makes the shell run commands`)
  for (const word of call.args) addLiteral(call.judge, word)
  if (at >= 0) judgeLater(call, call.args[at + 1] ?? '')
  return undefined
}

/** Commands of the history run later. */
const history: Builtin = (call) => {
  if (!call.args.some((word) => /^-\w*[cdwarnsp]/.test(word))) return undefined
  call.ask('history changes the list of earlier commands')
  const code = call.args.filter((word) => !word.startsWith('-')).join(' ')
  if (call.args.some((word) => /^-\w*[sp]/.test(word))) judgeLater(call, code)
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
function capture(call: SimpleCommand, output: CommandOutput): CommandOutput {
  if (call.captured || call.judge.written.size > 0) {
    for (const word of call.args) addLiteral(call.judge, word)
    if (output !== undefined) addLiteral(call.judge, output)
  }
  return output
}

const decoder =
  (decode: (call: SimpleCommand) => ((text: string) => CommandOutput) | undefined): Builtin =>
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
    if (call.args.includes('dotglob') && !call.args.includes('-u'))
      call.ask('dotglob makes wildcards match hidden files')
    return ''
  },
  hash,
  jobs,
  enable: (call) => {
    if (call.args.some((word) => /^-[a-z]*f/.test(word)))
      addHiddenCode(call.judge, 'enable -f loads a program into the shell')
    return asks('loads or switches off parts of the shell')(call)
  },
  complete,
  compgen: complete,
  bind: asks('makes keys run commands'),
  fc,
  suspend: asks('stops the shell'),
  history,
  umask: (call) => {
    if (call.args.some((word) => /^0*[0-7]?[0-7]?[0145]$|^(?=[^=+]*[ao])[augow,]*[=+][rx]*w/.test(word)))
      call.ask('umask lets others write to new files')
    return undefined
  },
  help: () => undefined,
}

/** A program that prints names. They matter where the output goes on to another program. */
const listing =
  (list: (call: SimpleCommand) => CommandOutput): Builtin =>
  (call) => {
    const names = call.captured ? list(call) : undefined
    return names && `${names}\n`
  }

const decoding = /^(-\w*[dD]\w*|--decode)$/
const basencDecoders: Readonly<Record<string, (text: string) => CommandOutput>> = {
  '--base64': decodeBase64,
  '--base32': decodeBase32,
  '--base16': decodeHex,
}

/** Programs whose output follows from their input. The allow-list judges their options. */
const decoders: Readonly<Record<string, Builtin>> = {
  cat: (call) => (call.args.every((word) => word === '-') ? call.stdin : undefined),
  head: passLines,
  tail: passLines,
  sort: passLines,
  uniq: passLines,
  ls: listing((call) => {
    const letters = call.args.filter((word) => word.startsWith('-')).join('')
    const kinds = { isDeep: /R|recursive/.test(letters), hasHidden: /[aAf]|all/.test(letters) }
    return addListing(
      call.judge,
      listBelow(
        call,
        call.args.filter((word) => !word.startsWith('-')),
        kinds,
      ),
    )
  }),
  find: listing(listFindOutput),
  rg: listing((call) => {
    if (!call.args.some((word) => /^(-\w*l|--files(-with-matches)?)$/.test(word))) return undefined
    const hasHidden = call.args.some((word) => /^(-\w*[.u]|--hidden|--no-ignore)/.test(word))
    return addListing(call.judge, listBelow(call, [], { isDeep: true, hasHidden }))
  }),
  rev: decoder(() => reverseLines),
  tr: (call) => passLines(call) ?? decoder(({ args }) => createTranslation(args))(call),
  base64: decoder(({ args }) => (args.some((word) => decoding.test(word)) ? decodeBase64 : undefined)),
  openssl: decoder(({ args }) => (args.includes('-d') ? decodeBase64 : undefined)),
  base32: decoder(({ args }) => (args.some((word) => decoding.test(word)) ? decodeBase32 : undefined)),
  basenc: decoder(({ args }) =>
    args.some((word) => decoding.test(word))
      ? basencDecoders[args.find((word) => word.startsWith('--base')) ?? '']
      : undefined,
  ),
  xxd: decoder(({ args }) =>
    args.some((word) => /^-\w*r/.test(word)) && args.some((word) => /^-\w*p/.test(word)) ? decodeHex : undefined,
  ),
  tee: (call) => call.stdin,
  date: ({ args }) => (/^\+%[sYmdHMSj]$/.test(args[0] ?? '') ? anyNumber : undefined),
  wc: () => anyNumber,
  nproc: () => anyNumber,
  id: ({ args }) => (/^-[ug]$/.test(args[0] ?? '') ? anyNumber : undefined),
  seq: () => anyNumber,
  grep: (call) => (call.args.some((word) => /^-\w*c/.test(word)) ? anyNumber : passLines(call)),
  which: ({ args: [program = '', ...more] }) =>
    more.length === 0 && isLiteral(program) ? `/usr/bin/${program}\n` : undefined,
  mktemp: ({ args }) => (args.includes('-u') ? undefined : '/tmp/tmp.new'),
}

export const findBuiltin = (name: string): Builtin | undefined => {
  if (Object.hasOwn(builtins, name)) return builtins[name]
  return harmlessBuiltins.has(name) ? () => '' : undefined
}

export const findPrinter = (name: string): Builtin | undefined =>
  Object.hasOwn(decoders, name) ? decoders[name] : undefined
