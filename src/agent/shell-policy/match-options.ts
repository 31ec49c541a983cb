/**
 * Parses the options of a vector by the grammar of its program. An option that the grammar does not contain in full, or
 * a word that may be one, needs approval.
 */

import { isGlob, isUnknown, renderField, type Field } from '#agent/path-policy/field.ts'

/** The kind of a value or an operand: plain text, a path that is read, its name alone, everything below it, or written. */
export type ValueRole = 'text' | 'read' | 'name' | 'tree' | 'write'

export type Grammar = {
  /** `rest`: the value is joined to the letter or absent. */
  readonly short: ReadonlyMap<string, ValueRole | 'none'>
  readonly long: ReadonlyMap<string, ValueRole | 'none' | 'joined'>
  /** Options end at the first operand. */
  readonly stops: boolean
  /** Long options have a single dash. */
  readonly hasSingleDashes: boolean
}

const roles: Readonly<Record<string, ValueRole>> = { '<': 'read', '>': 'write', '=': 'text' }

const longRoles: Readonly<Record<string, ValueRole | 'joined'>> = { ...roles, '?': 'joined' }

/**
 * Parses the notation of the allow-list: `abc o> f< | name value= file< out> size?`. A letter or name is followed by
 * the role of its value: `=` text, `<` read, `>` written, `?` joined text or nothing. `+` ends
 * the options at the first operand, `~` stands for long options with a single dash.
 */
export function parseGrammar(notation: string): Grammar {
  const [letters = '', names = ''] = notation.replace(/^[+~]+/, '').split('|')
  const short = new Map<string, ValueRole | 'none'>()
  for (const [, letter = '', role = ''] of letters.matchAll(/([^\s<>=])([<>=]?)/g))
    short.set(letter, roles[role] ?? 'none')
  const long = new Map<string, ValueRole | 'none' | 'joined'>()
  for (const [, name = '', role = ''] of names.matchAll(/([\w.-]+)([<>=?]?)/g))
    long.set(name, longRoles[role] ?? 'none')
  return { stops: notation.startsWith('+'), hasSingleDashes: notation.startsWith('~'), short, long }
}

export type CommandOptions = {
  readonly names: Set<string>
  readonly values: { readonly name: string; readonly value: Field; readonly role: ValueRole }[]
  readonly operands: Field[]
  /** The first word that is not allowed. */
  problem: string | undefined
}

/** `high`: no word may become an option. `low`: the name of a file may. `none`: any word may. */
export type Caution = 'high' | 'low' | 'none'

/** Whether the word may begin with a dash at run time. A name of a file with a known ending is no option with a path. */
export const mayBeOption = (word: Field, caution: Caution): boolean => {
  const first = word[0] ?? ''
  if (caution === 'none' || (!isUnknown(first) && !isGlob(first))) return false
  return caution === 'high' || !/[\uE000-\uE003]\.?[\w-]+(\.\w+)*$/.test(word)
}

export function readOptions(args: readonly Field[], grammar: Grammar, caution: Caution = 'low'): CommandOptions {
  const options: CommandOptions = { names: new Set(), values: [], operands: [], problem: undefined }
  let index = 0
  while (index < args.length) {
    const word = args[index++] ?? ''
    if (word === '--') break
    if (/^-./.test(word)) index += readOption(options, grammar, word, args[index])
    else {
      if (mayBeOption(word, caution)) options.problem ??= `${renderField(word)}, a word that may be an option`
      if (grammar.stops) {
        index--
        break
      }
      options.operands.push(word)
    }
  }
  options.operands.push(...args.slice(index))
  return options
}

/** Returns how many further words an option takes. */
function readOption(options: CommandOptions, grammar: Grammar, word: Field, next: Field | undefined): number {
  if (word.startsWith('--')) return readLong(options, grammar, word, next)
  return grammar.hasSingleDashes
    ? readLong(options, grammar, `-${word}`, next)
    : readShort(options, grammar, word, next)
}

const refuse = (options: CommandOptions, word: Field): void => {
  options.problem ??= `${renderField(word)}, which is not on the list of harmless options`
}

function readLong(options: CommandOptions, grammar: Grammar, word: Field, next: Field | undefined): number {
  const [, name = '', joined] = /^--([^=]*)(?:=([^]*))?$/.exec(word) ?? []
  const role = grammar.long.get(name) ?? 'unknown'
  options.names.add(name)
  const isRefused = role === 'unknown' || (role === 'none' && joined !== undefined)
  if (isRefused) refuse(options, word)
  if (role === 'none') return 0
  const takesNext = joined === undefined && !/^(joined|unknown)$/.test(role)
  addValue(options, name, takesNext ? next : joined, role)
  return takesNext ? 1 : 0
}

/** The value of an option that is not in the grammar may be a path. */
function addValue(
  { values }: CommandOptions,
  name: string,
  value: Field | undefined,
  role: ValueRole | 'joined' | 'unknown',
): void {
  if (value === undefined) return
  values.push({ name, value, role: role === 'joined' ? 'text' : role === 'unknown' ? 'read' : role })
}

function readShort(options: CommandOptions, grammar: Grammar, word: Field, next: Field | undefined): number {
  for (let i = 1; i < word.length; i++) {
    const letter = word[i] ?? ''
    const role = grammar.short.get(letter)
    options.names.add(letter)
    if (role === undefined) {
      if (/\d/.test(letter) && grammar.short.has('#')) continue
      refuse(options, word)
      return 0
    }
    if (role === 'none') continue
    const rest = word.slice(i + 1)
    const value = rest === '' ? next : rest
    if (value !== undefined) options.values.push({ name: letter, value, role })
    return rest === '' ? 1 : 0
  }
  return 0
}
