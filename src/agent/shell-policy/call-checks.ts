/** Parses the options of a call and checks the files, project code and hosts that it uses. Shared by all policies. */

import { isGlob, isLiteral, isUnknown, mayBeOption, renderField, type Field } from './field.ts'
import { isDisk, isSecret, isPowerSwitch, resolvePaths, getZone } from './path-zones.ts'
import type { Call, Policy } from './shell-state.ts'

/** Options that need no approval: letters, letters with a value, long names (`name=` takes a value). */
export type Grammar = { readonly short?: string; readonly valued?: string; readonly long?: string }

export type Options = {
  readonly names: ReadonlySet<string>
  readonly values: ReadonlyMap<string, readonly Field[]>
  readonly operands: readonly Field[]
  /** The first option that is not in the grammar. */
  readonly unknown: Field | undefined
}

const cache = new WeakMap<Grammar, ReadonlyMap<string, boolean>>()

function getLongNames(grammar: Grammar): ReadonlyMap<string, boolean> {
  const cached = cache.get(grammar)
  if (cached) return cached
  const names = (grammar.long ?? '').split(' ').filter((name) => name !== '')
  const map = new Map(names.map((name) => [name.replace('=', ''), name.endsWith('=')]))
  cache.set(grammar, map)
  return map
}

type MutableOptions = {
  names: Set<string>
  values: Map<string, Field[]>
  operands: Field[]
  unknown: Field | undefined
}

/** Parses options as getopt does, anywhere before `--`. With `stop`, only before the first operand, as wrappers do. */
export function readOptions(args: readonly Field[], grammar: Grammar, stop = false): Options {
  const options: MutableOptions = { names: new Set(), values: new Map(), operands: [], unknown: undefined }
  let index = 0
  while (index < args.length) {
    const arg = args[index++] ?? ''
    if (arg === '--') break
    if (arg.startsWith('--')) index += readLongOption(options, arg, args[index], grammar)
    else if (arg.length > 1 && arg.startsWith('-')) index += readShortOptions(options, arg, args[index], grammar)
    else if (stop) {
      index--
      break
    } else {
      if (mayBeOption(arg)) options.unknown ??= arg
      options.operands.push(arg)
    }
  }
  options.operands.push(...args.slice(index))
  return options
}

function addValue({ values }: MutableOptions, name: string, value: Field): void {
  const previous = values.get(name)
  if (previous) previous.push(value)
  else values.set(name, [value])
}

function readLongOption(options: MutableOptions, arg: Field, next: Field | undefined, grammar: Grammar): number {
  const at = arg.indexOf('=')
  const name = at === -1 ? arg.slice(2) : arg.slice(2, at)
  const valued = getLongNames(grammar).get(name)
  options.names.add(name)
  if (valued === undefined) options.unknown ??= arg
  if (at !== -1) addValue(options, name, arg.slice(at + 1))
  if (at !== -1 || !valued || next === undefined) return 0
  addValue(options, name, next)
  return 1
}

function readShortOptions(
  options: MutableOptions,
  arg: Field,
  next: Field | undefined,
  { short: plain = '', valued = '' }: Grammar,
): number {
  for (let i = 1; i < arg.length; i++) {
    const letter = arg[i] ?? ''
    options.names.add(letter)
    if (valued.includes(letter)) return readShortValue(options, letter, arg.slice(i + 1), next)
    if (!plain.includes(letter)) options.unknown ??= arg
  }
  return 0
}

/** Returns how many further words the value takes: none when it is joined to its letter. */
function readShortValue(options: MutableOptions, letter: string, rest: Field, next: Field | undefined): number {
  if (rest !== '') addValue(options, letter, rest)
  if (rest !== '' || next === undefined) return 0
  addValue(options, letter, next)
  return 1
}

export const hasOption = (options: Options, ...names: readonly string[]): boolean =>
  names.some((name) => options.names.has(name))
export const optionValues = (options: Options, ...names: readonly string[]): readonly Field[] =>
  names.flatMap((name) => options.values.get(name) ?? [])

/** Whether an option is this long option or an abbreviation of it. */
export const isAbbreviationOf = (arg: Field, name: string): boolean => {
  const written = arg.replace(/^--/, '').replace(/=[\s\S]*$/, '')
  return arg.startsWith('--') && written !== '' && name.startsWith(written)
}

/** Asks about an option that is not in the grammar. */
export function checkOptions(call: Call, options: Options): void {
  if (options.unknown !== undefined)
    call.ask(`${call.name} is given ${renderField(options.unknown)}, which is not on the list of harmless options`)
}

export function checkReads(call: Call, paths: readonly Field[]): void {
  for (const path of paths)
    if (resolvePaths(path, call.shell).some((resolved) => isSecret(resolved)) || isSecret(path))
      call.ask(`${call.name} reads ${renderField(path)}, which may hold secrets`)
}

/** Asks about paths outside the workspace. `what` completes “would …”. */
export function checkWrites(call: Call, paths: readonly Field[], reason = 'write'): void {
  for (const path of paths)
    for (const resolved of resolvePaths(path, call.shell)) checkWriteTo(call, path, resolved, reason)
}

function checkWriteTo(call: Call, path: Field, resolved: Field, reason: string): void {
  const text = `${call.name} would ${reason} ${renderField(path)}`
  const zone = getZone(resolved, call.judge.host)
  if (isDisk(resolved)) call.refuse(`${text}, a device of the machine`)
  else if (isPowerSwitch(resolved)) call.refuse(`${text}, which stops the machine`)
  else if (zone === 'unknown') call.ask(`${text}; the path is only known at run time`)
  else if (zone === 'trusted') call.ask(`${text}, which other programs trust`)
  else if (zone === 'outside' || zone === 'device') call.ask(`${text}, outside the workspace`)
  else if (reason !== 'remove' && /(^|\/)-[^/]*$/.test(resolved))
    call.ask(`${text}, a name that other programs take for an option`)
}

/** Records the content of a written file, so that running it can be judged. */
export function recordContent(call: Call, path: Field, content: readonly string[] | 'unknown'): void {
  for (const resolved of resolvePaths(path, call.shell))
    if (isLiteral(resolved)) call.shell.files.set(resolved, content)
}

const outsideZones = new Set(['outside', 'device', 'trusted'])

/** Whether the current directory may be outside the workspace. */
export const isOutsideWorkspace = ({ shell, judge: { host: around } }: Call): boolean =>
  shell.cwd.some((cwd) => outsideZones.has(getZone(cwd, around)))

/** Names of tasks that destroy data or publish something. */
const destructiveTask =
  /[:.](drop|reset|wipe|destroy|purge|flush|truncate|rollback|downgrade|fresh|undo|teardown|nuke|publish|deploy)(:all)?$/i
const destructiveWord = /^(flush|drop\w*|reset_db|downgrade|destroy|purge|wipe|nuke|teardown|(un)?publish|deploy)$/i
const testWord = /^(test|t|bench|check|-k|-t|-run|vitest|jest|mocha|ava|tap|pytest|rspec|phpunit)$/

function isDestructiveTask({ name, args }: Call): boolean {
  const words = args.filter((arg) => !arg.startsWith('-')).slice(0, 3)
  const tests = [name, ...args].some((word) => testWord.test(word))
  return args.some((arg) => destructiveTask.test(arg)) || (!tests && words.some((word) => destructiveWord.test(word)))
}

/** Asks about running code of the project, unless the host is a sandbox without network. */
export function checkProjectCode(call: Call, reason: string): void {
  if (isDestructiveTask(call)) call.ask(`${reason} may destroy data or publish something`)
  if (!call.judge.host.isSandboxed) call.ask(`${reason} runs code of the project on a machine that is not disposable`)
  else if (isOnline(call)) call.ask(`${reason} runs code of the project, which may use the network`)
  if (isOutsideWorkspace(call)) call.ask(`${reason} runs outside the workspace`)
}

export function checkNetwork(call: Call, reason: string): void {
  if (isOnline(call)) call.ask(`${reason} uses the network`)
}

const valueOfArgument = (arg: Field): Field => arg.replace(/^(?:--?[A-Za-z][\w-]*=|-[A-Za-z](?=[/~]))/, '')

/** Asks about arguments that lead out of the workspace, for programs that may write to any argument. */
export function checkArgumentPaths(call: Call, args: readonly Field[] = call.args): void {
  for (const arg of args) {
    const value = valueOfArgument(arg)
    if (!value.startsWith('/') && !value.startsWith('~') && !/(^|\/)\.\.(\/|$)/.test(value)) continue
    const zones = resolvePaths(value, call.shell).map((resolved) => getZone(resolved, call.judge.host))
    if (zones.some((zone) => zone !== 'inside' && zone !== 'temporary' && zone !== 'sink'))
      call.ask(`${call.name} is given ${renderField(arg)}, outside the workspace`)
  }
}

/** Makes the subcommand the default rule for questions about this call. */
export const withRule = (call: Call, usual: string): Call => ({
  ...call,
  ask: (reason, rule) => call.ask(reason, rule === null ? null : (rule ?? usual)),
})

export const isSandboxed = (call: Call): boolean => call.judge.host.isSandboxed

/** Whether data could leave by the network, if only in a DNS query. */
export const isOnline = ({ judge: { host: around } }: Call): boolean => !around.isSandboxed || around.isOnline === true

/** Creates the policy of a program that only reads. Without a grammar it may have any options. */
export const createReader =
  (grammar?: Grammar): Policy =>
  (call) => {
    const options = readOptions(call.args, grammar ?? {})
    if (grammar) checkOptions(call, options)
    checkReads(call, grammar ? [...options.operands, ...[...options.values.values()].flat()] : call.args)
    return undefined
  }

export const hasUnknown = (fields: readonly Field[]): boolean =>
  fields.some((field) => isUnknown(field) || isGlob(field))
