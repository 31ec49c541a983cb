/** What policies have in common: reading options, and asking about what is read and written. */

import { isGlob, isLiteral, isUnknown, mayBeOption, shown, type Field } from './marks.ts'
import { isDisk, isSecret, isSwitch, places, zoneOf } from './paths.ts'
import type { Call, Policy } from './shell.ts'

/** Options a program may be given unasked: letters, letters with a value, long names (with a value: `name=`). */
export type Grammar = { readonly short?: string; readonly valued?: string; readonly long?: string }

export type Options = {
  readonly has: ReadonlySet<string>
  readonly values: ReadonlyMap<string, readonly Field[]>
  readonly operands: readonly Field[]
  /** The first option that is not in the grammar. */
  readonly odd: Field | undefined
}

const cache = new WeakMap<Grammar, ReadonlyMap<string, boolean>>()

function longNames(grammar: Grammar): ReadonlyMap<string, boolean> {
  const known = cache.get(grammar)
  if (known) return known
  const names = (grammar.long ?? '').split(' ').filter((name) => name !== '')
  const map = new Map(names.map((name) => [name.replace('=', ''), name.endsWith('=')]))
  cache.set(grammar, map)
  return map
}

type Reading = { has: Set<string>; values: Map<string, Field[]>; operands: Field[]; odd: Field | undefined }

/** As getopt reads them: options anywhere before `--`. With `stop`, only before the first operand, as wrappers do. */
export function readOptions(args: readonly Field[], grammar: Grammar, stop = false): Options {
  const reading: Reading = { has: new Set(), values: new Map(), operands: [], odd: undefined }
  let at = 0
  while (at < args.length) {
    const arg = args[at++] ?? ''
    if (arg === '--') break
    if (arg.startsWith('--')) at += long(reading, arg, args[at], grammar)
    else if (arg.length > 1 && arg.startsWith('-')) at += short(reading, arg, args[at], grammar)
    else if (stop) {
      at--
      break
    } else {
      if (mayBeOption(arg)) reading.odd ??= arg
      reading.operands.push(arg)
    }
  }
  reading.operands.push(...args.slice(at))
  return reading
}

function keep({ values }: Reading, name: string, value: Field): void {
  const kept = values.get(name)
  if (kept) kept.push(value)
  else values.set(name, [value])
}

function long(reading: Reading, arg: Field, next: Field | undefined, grammar: Grammar): number {
  const at = arg.indexOf('=')
  const name = at === -1 ? arg.slice(2) : arg.slice(2, at)
  const valued = longNames(grammar).get(name)
  reading.has.add(name)
  if (valued === undefined) reading.odd ??= arg
  if (at !== -1) keep(reading, name, arg.slice(at + 1))
  if (at !== -1 || !valued || next === undefined) return 0
  keep(reading, name, next)
  return 1
}

function short(
  reading: Reading,
  arg: Field,
  next: Field | undefined,
  { short: plain = '', valued = '' }: Grammar,
): number {
  for (let i = 1; i < arg.length; i++) {
    const letter = arg[i] ?? ''
    reading.has.add(letter)
    if (valued.includes(letter)) return shortValue(reading, letter, arg.slice(i + 1), next)
    if (!plain.includes(letter)) reading.odd ??= arg
  }
  return 0
}

/** How many words more a value takes: none when it is joined to its letter. */
function shortValue(reading: Reading, letter: string, rest: Field, next: Field | undefined): number {
  if (rest !== '') keep(reading, letter, rest)
  if (rest !== '' || next === undefined) return 0
  keep(reading, letter, next)
  return 1
}

export const flag = (options: Options, ...names: readonly string[]): boolean =>
  names.some((name) => options.has.has(name))
export const valuesOf = (options: Options, ...names: readonly string[]): readonly Field[] =>
  names.flatMap((name) => options.values.get(name) ?? [])

/** Whether an option is this long one, written out or shortened. */
export const abbreviates = (arg: Field, name: string): boolean => {
  const given = arg.replace(/^--/, '').replace(/=[\s\S]*$/, '')
  return arg.startsWith('--') && given !== '' && name.startsWith(given)
}

/** Asks about options nobody has looked at. */
export function accept(call: Call, options: Options): void {
  if (options.odd !== undefined)
    call.ask(`${call.name} is given ${shown(options.odd)}, which is not on the list of harmless options`)
}

export function reads(call: Call, paths: readonly Field[]): void {
  for (const path of paths)
    if (places(path, call.shell).some((place) => isSecret(place)) || isSecret(path))
      call.ask(`${call.name} reads ${shown(path)}, which may hold secrets`)
}

/** Asks about a place that is not the workspace's own. `what` completes “would …”. */
export function writes(call: Call, paths: readonly Field[], what = 'write'): void {
  for (const path of paths) for (const place of places(path, call.shell)) writesTo(call, path, place, what)
}

function writesTo(call: Call, path: Field, place: Field, what: string): void {
  const text = `${call.name} would ${what} ${shown(path)}`
  const zone = zoneOf(place, call.judge.around)
  if (isDisk(place)) call.never(`${text}, a device of the machine`)
  else if (isSwitch(place)) call.never(`${text}, which stops the machine`)
  else if (zone === 'unknown') call.ask(`${text}; where that is is only known when it runs`)
  else if (zone === 'trusted') call.ask(`${text}, which other programs trust`)
  else if (zone === 'outside' || zone === 'device') call.ask(`${text}, outside the workspace`)
  else if (what !== 'remove' && /(^|\/)-[^/]*$/.test(place))
    call.ask(`${text}, a name that other programs take for an option`)
}

/** Notes what a file holds from now on, so that running it can be judged. */
export function holds(call: Call, path: Field, content: readonly string[] | 'unknown'): void {
  for (const place of places(path, call.shell)) if (isLiteral(place)) call.shell.files.set(place, content)
}

const AWAY = new Set(['outside', 'device', 'trusted'])

/** Where it stands may be no place of the workspace. */
export const isAway = ({ shell, judge: { around } }: Call): boolean =>
  shell.cwd.some((cwd) => AWAY.has(zoneOf(cwd, around)))

/** Tasks that are named after what they do to data, or to other people. */
const TASK =
  /[:.](drop|reset|wipe|destroy|purge|flush|truncate|rollback|downgrade|fresh|undo|teardown|nuke|publish|deploy)(:all)?$/i
const BARE = /^(flush|drop\w*|reset_db|downgrade|destroy|purge|wipe|nuke|teardown|(un)?publish|deploy)$/i
const TESTS = /^(test|t|bench|check|-k|-t|-run|vitest|jest|mocha|ava|tap|pytest|rspec|phpunit)$/

function isGrave({ name, args }: Call): boolean {
  const words = args.filter((arg) => !arg.startsWith('-')).slice(0, 3)
  const tests = [name, ...args].some((word) => TESTS.test(word))
  return args.some((arg) => TASK.test(arg)) || (!tests && words.some((word) => BARE.test(word)))
}

/** Code of the project, which nobody reads here: harmless on a disposable machine that reaches nothing, else a question. */
export function runsProject(call: Call, what: string): void {
  if (isGrave(call)) call.ask(`${what} may destroy data or publish something`)
  if (!call.judge.around.sandboxed) call.ask(`${what} runs code of the project on a machine that is not disposable`)
  else if (isOnline(call)) call.ask(`${what} runs code of the project, which may use the network`)
  if (isAway(call)) call.ask(`${what} runs outside the workspace`)
}

export function reachesOut(call: Call, what: string): void {
  if (isOnline(call)) call.ask(`${what} uses the network`)
}

const valueIn = (arg: Field): Field => arg.replace(/^(?:--?[A-Za-z][\w-]*=|-[A-Za-z](?=[/~]))/, '')

/** Arguments that lead out of the workspace, for programs that may write to any of them. */
export function staysInside(call: Call, args: readonly Field[] = call.args): void {
  for (const arg of args) {
    const value = valueIn(arg)
    if (!value.startsWith('/') && !value.startsWith('~') && !/(^|\/)\.\.(\/|$)/.test(value)) continue
    const zones = places(value, call.shell).map((place) => zoneOf(place, call.judge.around))
    if (zones.some((zone) => zone !== 'inside' && zone !== 'temporary' && zone !== 'sink'))
      call.ask(`${call.name} is given ${shown(arg)}, outside the workspace`)
  }
}

/** Questions about this call are about its subcommand. */
export const withRule = (call: Call, usual: string): Call => ({
  ...call,
  ask: (reason, rule) => call.ask(reason, rule === null ? null : (rule ?? usual)),
})

export const sandboxed = (call: Call): boolean => call.judge.around.sandboxed

/** Something could leave by the network, if only in an address that is looked up. */
export const isOnline = ({ judge: { around } }: Call): boolean => !around.sandboxed || around.online === true

/** A program that only reads, with the options of its grammar, or with any when there is none. */
export const reader =
  (grammar?: Grammar): Policy =>
  (call) => {
    const options = readOptions(call.args, grammar ?? {})
    if (grammar) accept(call, options)
    reads(call, grammar ? [...options.operands, ...[...options.values.values()].flat()] : call.args)
    return undefined
  }

export const vague = (fields: readonly Field[]): boolean => fields.some((field) => isUnknown(field) || isGlob(field))
