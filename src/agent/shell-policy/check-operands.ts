/** Checks the operands of listed programs: what they read, write, remove and unpack. */

import { anyWords, isLiteral, isUnknown, renderField, type Field } from '#agent/path-policy/field.ts'
import { listSecretsBelow, renderSecrets } from '#agent/path-policy/judge-path.ts'
import { checkRead, checkWrite, resolvePaths } from './check-paths.ts'
import { networkChecks } from './check-network.ts'
import { textChecks } from './check-text-programs.ts'
import { arrive, has, reads, valueOf, writes, type CommandCheck } from './effects.ts'
import { isOnline, reportNetwork } from './judge-run.ts'
import type { CommandOptions } from './match-options.ts'
import type { SimpleCommand } from './shell-state.ts'
import { recordWritten } from './simple-command.ts'

const copy: CommandCheck = (call, options) => {
  const target = valueOf(options, 't', 'target-directory')
  const sources = target === undefined ? options.operands.slice(0, -1) : options.operands
  const to = target ?? options.operands.at(-1) ?? ''
  reads(call, sources, has(options, 'r', 'R', 'a', 'recursive', 'archive') ? 'tree' : 'content')
  if (has(options, 'r', 'R', 'a', 'recursive', 'archive')) arrive(call, 'files')
  checkWrite(call, to, call.name)
  for (const source of sources) {
    // In a directory the copy keeps the name of its source.
    const name = source.split('/').findLast((part) => part !== '') ?? ''
    if (isLiteral(name)) checkWrite(call, `${to}/${name}`, call.name)
    const [content] = resolvePaths(call, source).map((path) => call.judge.written.get(path))
    for (const path of [to, `${to}/${name}`]) {
      recordWritten(call, path, content)
      recordProgram(call, source, path)
    }
  }
}

const move: CommandCheck = (call, options) => {
  const target = valueOf(options, 't', 'target-directory')
  for (const path of [...options.operands, ...(target === undefined ? [] : [target])])
    checkWrite(call, path, 'mv', 'move')
  // Under another name a secret would not be one.
  reads(call, target === undefined ? options.operands.slice(0, -1) : options.operands, 'name')
  const to = target ?? options.operands.at(-1) ?? ''
  const [content] = resolvePaths(call, options.operands[0] ?? '').map((path) => call.judge.written.get(path))
  if (isLiteral(to)) recordWritten(call, to, content)
}

const remove: CommandCheck = (call, { operands }) => {
  for (const path of operands) {
    const last = path.split('/').at(-1) ?? ''
    if (isUnknown(path) || /^[\uE002\uE003.]*$/.test(last))
      call.ask(`${call.name} would remove ${renderField(path)}: the files are only known at run time`)
    else checkWrite(call, path.replace(/(^|\/)-(?=[^/]*$)/, '$1'), call.name, 'remove')
  }
}

const link: CommandCheck = (call, options) => {
  const { operands, values } = options
  const into = valueOf(options, 't')
  const targets = into !== undefined || operands.length < 2 ? operands : operands.slice(0, -1)
  const name = into ?? (operands.length < 2 ? '.' : (operands.at(-1) ?? ''))
  const isRelative = !has(options, 's', 'symbolic') || has(options, 'r', 'relative')
  const directory = isRelative ? '.' : name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : '.'
  for (const cwd of resolvePaths(call, directory))
    for (const target of targets) {
      const place = { ...call, shell: { ...call.shell, cwd: [cwd] } }
      checkWrite(place, target, 'ln', 'lead to')
      checkRead(place, target, 'ln', 'name')
    }
  writes(call, [name, ...values.map(({ value }) => value)], 'make')
  for (const target of targets) recordLink(call, target, name, isRelative)
}

/** Remembers a link that the line makes, so that later commands of the line are judged by its target. */
function recordLink(call: SimpleCommand, target: Field, name: Field, isRelative: boolean): void {
  const base = target.split('/').findLast((part) => part !== '') ?? ''
  const isDirectory = /(^|\/)\.{0,2}$/.test(name)
  const [end = target] = isRelative ? resolvePaths(call, target) : []
  for (const path of isDirectory ? [`${name}/${base}`] : [name, `${name}/${base}`]) {
    recordProgram(call, target, path)
    for (const made of resolvePaths(call, path, true))
      if (isLiteral(made) && made !== end && call.judge.links.size < maxLinks) call.judge.links.set(made, end)
  }
}
const maxLinks = 20_000

/** Remembers a copy or a link of a program of the system. */
function recordProgram(call: SimpleCommand, source: Field, path: Field): void {
  const program = /^\/(?:usr\/(?:local\/)?)?s?bin\/([^/]+)$/.exec(source)?.[1]
  if (program === undefined || !isLiteral(program)) return
  for (const made of resolvePaths(call, path, true)) call.judge.renamed.set(made, program)
}

/** Modes that let everybody write, or that set setuid. */
const looseMode = /^[0-7]?[0-7]{0,2}[2367]$|^0*[2467][0-7]{3}$|[ao][ug]*[+=][rxXst]*w|(^|,)[+=][rxX]*w|[+=][rwxXt]*s/

const chmod: CommandCheck = (call, { operands: [mode = '', ...paths] }) => {
  if (looseMode.test(mode) || !isLiteral(mode))
    call.ask(`chmod ${renderField(mode)} lets others write, or run it with other rights`)
  writes(call, paths, 'change the rights of')
}

const grep: CommandCheck = (call, options) => {
  const hasPattern = has(options, 'files') || options.values.some(({ name }) => /^(e|f|regexp|file)$/.test(name))
  const paths = hasPattern ? options.operands : options.operands.slice(1)
  const isTree = readsHidden(call, options)
  if (skipsHidden.test(call.name) && !isTree) checkVisible(call, paths.length === 0 ? ['.'] : paths)
  const role = { subject: call.name, advice: searchAdvice }
  for (const path of isTree && paths.length === 0 ? ['.'] : paths)
    checkRead(call, path, isTree ? role : call.name, isTree ? 'tree' : 'content')
}

/** Programs that search below every path, without hidden files unless they are told to. */
const skipsHidden = /^(rg|ag)$/

const readsHidden = ({ name, args }: SimpleCommand, options: CommandOptions): boolean =>
  skipsHidden.test(name)
    ? has(options, 'hidden', '.', 'u', 'unrestricted', 'no-ignore')
    : name === 'ack' || args.some((word) => /^(-[a-zA-Z]*[rR]|--(dereference-)?recursive)/.test(word))

const searchAdvice = 'search_files skips these files and does not ask'

/** Asks about secret files whose names are not hidden: rg searches them below every path. */
function checkVisible(call: SimpleCommand, paths: readonly Field[]): void {
  const { judge } = call
  judge.readsMany = true
  for (const path of paths.flatMap((one) => resolvePaths(call, one))) {
    const found = listSecretsBelow(path, judge.host).filter((file) => !/\/\./.test(file.slice(path.length)))
    if (found.length > 0) call.ask(`${call.name} reads ${renderField(path)}, ${renderSecrets(found)}; ${searchAdvice}`)
  }
}

/** The first word of tar may be options without a dash. Their values follow in the same order. */
export function addDashes([first = '', ...rest]: readonly Field[]): readonly Field[] {
  if (!/^[A-Za-z]+$/.test(first)) return [first, ...rest]
  return [
    ...[...first].flatMap((letter) => [`-${letter}`, ...('fCTX'.includes(letter) ? rest.splice(0, 1) : [])]),
    ...rest,
  ]
}

const unpack = (call: SimpleCommand, target: Field): void => {
  checkWrite(call, target, call.name, 'unpack into')
  arrive(call, 'files')
  call.judge.unpacked.push(...resolvePaths(call, target))
  if (isOnline(call)) call.ask(`${call.name} unpacks files that other programs may run`)
}

const tar: CommandCheck = (call, options) => {
  const named = options.operands.find((word) => word.startsWith('@'))
  if (named !== undefined) call.ask(`tar copies what ${renderField(named)} lists`)
  const archive = valueOf(options, 'f', 'file') ?? '-'
  if (/^[^/]+:/.test(archive)) call.ask(`tar would reach another machine for ${renderField(archive)}`)
  if (has(options, 'c', 'r', 'u', 'create', 'append', 'update')) {
    if (archive !== '-') writes(call, [archive])
    reads(call, options.operands, 'tree')
  } else {
    if (archive !== '-') reads(call, [archive])
    if (has(options, 'x', 'extract', 'get') && !has(options, 'O'))
      unpack(call, valueOf(options, 'C', 'directory') ?? '.')
  }
}

const unzip: CommandCheck = (call, options) => {
  reads(call, options.operands)
  if (!has(options, 'l', 'v', 't', 'p', 'Z', 'c', 'z')) unpack(call, valueOf(options, 'd') ?? '.')
}

const patch: CommandCheck = (call, options) => {
  writes(call, ['.', ...options.operands], 'change')
  if (isOnline(call) && !has(options, 'dry-run')) call.ask('patch changes files that are only named in the patch')
  arrive(call, 'files')
}

const rsync: CommandCheck = (call, { operands }) => {
  if (operands.some((path) => path.includes(':'))) call.ask('rsync copies to or from another machine')
  reads(call, operands.slice(0, -1), 'tree')
  writes(call, operands.slice(-1), 'write into')
  arrive(call, 'files')
}

const dd: CommandCheck = (call) => {
  for (const word of call.args) {
    const [, name = '', value = ''] = /^(\w+)=([^]*)$/.exec(word) ?? []
    if (
      !/^(if|of|bs|ibs|obs|count|seek|skip|conv|status|iflag|oflag)$/.test(name) &&
      word !== '--help' &&
      word !== '--version'
    )
      call.ask(`dd is given ${renderField(word)}`)
    if (name === 'if') reads(call, [value])
    if (name === 'of') writes(call, [value])
  }
}

/** Jobs of this command line may be ended. The signal 0 only checks for a process. */
const kill: CommandCheck = (call) => {
  const { args } = call
  const [first = ''] = args
  if (first === '' || /^-[lL]/.test(first) || first === '--list') return
  const processes = first.startsWith('-') ? args.slice(/^-[sn]$/.test(first) ? 2 : 1) : args
  const isOwn = processes.every(
    (process) => /^%[\w+!-]*$/.test(process) || (first === '-0' && /^(\d+|\uE004)$/.test(process)),
  )
  if (processes.length === 0 || !isOwn) call.ask(`kill would end ${processes.map(renderField).join(' ')}`)
}

const date: CommandCheck = (call, { operands }) => {
  if (operands.some((word) => !word.startsWith('+'))) call.ask('date would set the clock')
}

const openssl: CommandCheck = (call) => {
  const [command = '', ...rest] = call.args
  const isPlain =
    /^(version|dgst|rand)$/.test(command) &&
    rest.every((word) => /^-(a|r|hex|base64|c|md5|sha\d+|sha3-\d+)$|^[^-]/.test(word))
  const isEncoding = /^(base64|enc)$/.test(command) && rest.every((word) => /^-(d|A|a|base64)$/.test(word))
  if (!isPlain && !isEncoding)
    call.ask(`openssl ${renderField(command)} may read keys, write files or open connections`, `openssl ${command}`)
  reads(call, rest)
}

const refusedWords =
  (pattern: RegExp): CommandCheck =>
  (call) => {
    const word = call.args.find((arg) => pattern.test(arg) || /^[\uE000\uE001]/.test(arg))
    if (word !== undefined) call.ask(`${call.name} is given ${renderField(word)}`)
    reads(call, call.args)
  }

const pager: CommandCheck = (call, { operands }) => {
  reads(call, operands)
  if (call.name === 'man' && operands.some((word) => /[:/]/.test(word))) call.ask('man opens a file or an address')
  if (operands.some((word) => word.startsWith('+'))) call.ask(`${call.name} runs commands of its own`)
}

/** Modules of jq are files. */
const jq: CommandCheck = (call, { operands }) => {
  reads(call, operands)
  if (operands.some((word) => /\b(import|include)\b/.test(word))) call.ask('jq loads what its filter names')
}

const yq: CommandCheck = (call, { operands }) => {
  reads(call, operands)
  if (operands.some((word) => /\b(load(_\w+)?|system|envsubst|strenv|eval)\s*\(/.test(word)))
    call.ask('yq loads what its expression names')
}

/** Programs of binutils read options from `@file`, among them plugins, and print the words that are none. */
const binary: CommandCheck = (call, { operands }) => {
  reads(call, operands)
  const named = operands.find((word) => word.startsWith('@'))
  if (named !== undefined) call.ask(`${call.name} reads options from ${renderField(named)}`)
}

/** A schema may include others from any host. */
const xmllint: CommandCheck = (call, options) => {
  refusedWords(/^\w+:/)(call, options)
  if (has(options, 'schema', 'relaxng') && !has(options, 'nonet')) reportNetwork(call)
}

const printenv: CommandCheck = (call) => {
  if (!call.judge.host.isSandboxed) call.ask('printenv shows variables, secrets among them')
}

const none: CommandCheck = (call, { operands }) => {
  if (operands.length > 0) call.ask(`${call.name} is given ${operands.map(renderField).join(' ')}`)
}

const compress: CommandCheck = (call, options) => {
  reads(call, options.operands)
  if (!has(options, 'c', 'stdout', 'l', 't', 'list', 'test')) writes(call, options.operands, 'replace')
}

/** The operands of the allow-list, by the names of programs.ts. */
export const operandChecks: Readonly<Record<string, CommandCheck>> = {
  text: () => undefined,
  read: (call, { operands }) => reads(call, operands),
  name: (call, { operands }) => reads(call, operands, 'name'),
  tree: (call, { operands }) =>
    reads(call, operands, call.args.some((word) => /^(-\w*[rR]|--recursive)/.test(word)) ? 'tree' : 'content'),
  write: (call, { operands }) => writes(call, operands),
  second: (call, { operands }) => {
    reads(call, operands.slice(0, 1))
    // An unknown word may be two.
    writes(call, operands.slice(operands[0]?.includes(anyWords) ? 0 : 1))
  },
  split: (call, { operands: [file = '-', prefix = 'x'] }) => {
    reads(call, [file])
    writes(call, [prefix])
  },
  binary,
  pager,
  jq,
  yq,
  zip: (call, { operands: [archive = '', ...sources] }) => {
    writes(call, [archive])
    reads(call, sources, 'tree')
  },
  ...textChecks,
  ...networkChecks,
  copy,
  move,
  remove,
  link,
  chmod,
  grep,
  tar,
  unzip,
  patch,
  rsync,
  dd,
  kill,
  date,
  none,
  openssl,
  compress,
  printenv,
  getent: refusedWords(/^(?!passwd$|group$|services$|protocols$|-)|shadow$/),
  xmllint,
}
