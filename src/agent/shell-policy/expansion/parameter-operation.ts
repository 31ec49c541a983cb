/**
 * Computes the results of `${name…}` for known values: defaults, affix removal, replacement, substring, letter case.
 */

import type { ParameterExpansionPart, ParameterOperation, Word } from 'unbash'
import { anyText, canMatch, isLiteral, anyNumber, type Field } from '#agent/path-policy/field.ts'
import { maxCandidates, union, type ShellValue } from '../shell-state.ts'

const maxTextChars = 256

/** Expands operands. Each is expanded exactly once, used or not, so that commands inside are judged. */
export type Operands = {
  readonly text: (word: Word) => readonly Field[]
  readonly number: (word: Word) => readonly Field[]
  readonly pattern: (word: Word) => readonly Field[]
}

type Operand = { readonly value: ShellValue; readonly operands: Operands }

/** Returns the possible results. `value` contains `anyText` when the variable may be unset or is not known. */
export function applyOperation(part: ParameterExpansionPart, { value, operands }: Operand): readonly Field[] {
  if (part.prefix === '#') return [anyNumber]
  const { operation } = part
  if (!operation) return value.candidates
  const results = operate(operation, value.candidates, operands)
  return results.length > maxCandidates ? [anyText] : results
}

function operate(
  operation: ParameterOperation,
  values: readonly Field[],
  { text, number, pattern }: Operands,
): readonly Field[] {
  switch (operation.type) {
    case 'Default':
      return applyDefault(operation.operator, values, text(operation.operand))
    case 'Remove':
      return pairs(values, pattern(operation.operand), (value, cut) => removeAffix(value, cut, operation.operator))
    case 'Replace': {
      const patterns = pattern(operation.pattern)
      const replacements = text(operation.replacement)
      return pairs(values, patterns, (value, from) =>
        replacements.map((to) => replacePattern({ value, from, to }, operation.operator)),
      )
    }
    case 'Slice': {
      const offsets = number(operation.offset)
      const lengths = operation.length ? number(operation.length) : [undefined]
      return pairs(values, offsets, (value, offset) => lengths.map((length) => takeSubstring(value, offset, length)))
    }
    case 'CaseModification': {
      const only = operation.operand ? pattern(operation.operand) : []
      return values.map((value) => (only.length > 0 ? anyText : changeCase(value, operation.operator)))
    }
    case 'Transform':
      return values.map((value) => transform(value, operation.operand.value))
    case 'Names':
    case 'Unknown':
      return [anyText]
  }
}

function pairs(
  as: readonly Field[],
  bs: readonly Field[],
  make: (a: Field, b: Field) => Field | readonly Field[],
): readonly Field[] {
  if (as.length * bs.length > maxCandidates) return [anyText]
  return as.flatMap((a) => bs.flatMap((b) => make(a, b)))
}

function applyDefault(operator: string, values: readonly Field[], defaults: readonly Field[]): readonly Field[] {
  const alternative = operator.endsWith('+')
  if (alternative) return union(defaults, [''])
  if (operator.endsWith('?')) return values
  return values.flatMap((value) => {
    if (value === anyText) return [anyText, ...defaults]
    if (value === '') return operator.startsWith(':') ? defaults : [value]
    return [value]
  })
}

const areShortLiterals = (...texts: readonly Field[]): boolean =>
  texts.every((text) => isLiteral(text) && text.length <= maxTextChars)
const isComputable = (value: Field, pattern: Field): boolean =>
  areShortLiterals(value) && !pattern.includes(anyText) && pattern.length <= maxTextChars

function removeAffix(value: Field, pattern: Field, operator: string): Field {
  const isPrefix = operator.startsWith('#')
  // A literal suffix can be removed from a file name that is otherwise unknown.
  if (isLiteral(pattern) && !isLiteral(value)) return removeLiteral(value, pattern, isPrefix)
  if (!isComputable(value, pattern)) return anyText
  const isLongest = operator.length === 2
  const cuts = Array.from({ length: value.length + 1 }, (_, i) => (isLongest ? value.length - i : i))
  for (const cut of cuts) {
    if (isPrefix && canMatch(pattern, value.slice(0, cut))) return value.slice(cut)
    if (!isPrefix && canMatch(pattern, value.slice(value.length - cut))) return value.slice(0, value.length - cut)
  }
  return value
}

function removeLiteral(value: Field, pattern: string, isPrefix: boolean): Field {
  if (isPrefix) return value.startsWith(pattern) ? value.slice(pattern.length) : anyText
  return value.endsWith(pattern) ? value.slice(0, value.length - pattern.length) : anyText
}

type ReplaceInput = { readonly value: Field; readonly from: Field; readonly to: Field }

function replacePattern({ value, from, to }: ReplaceInput, operator: string): Field {
  if (from === '') return value
  // Patterns are tried at every position, so only on short texts.
  if (!isComputable(value, from) || (value.length > 64 && !isLiteral(from))) return anyText
  let result = ''
  for (let at = 0; at < value.length;) {
    const end = at > 0 && operator === '/#' ? -1 : matchAt(value, from, at, operator === '/%')
    if (end < 0) result += value[at++] ?? ''
    else if (operator === '//') {
      result += to
      at = Math.max(end, at + 1)
    } else return result + to + value.slice(end)
  }
  return result
}

function matchAt(value: string, pattern: Field, at: number, toEnd: boolean): number {
  if (isLiteral(pattern)) {
    const end = at + pattern.length
    return value.startsWith(pattern, at) && (!toEnd || end === value.length) ? end : -1
  }
  for (let end = value.length; end > at; end--) {
    if (canMatch(pattern, value.slice(at, end))) return end
    if (toEnd) return -1
  }
  return -1
}

function takeSubstring(value: Field, offset: Field, length: Field | undefined): Field {
  const from = Number(offset.trim())
  const count = length === undefined ? undefined : Number(length.trim())
  if (!isLiteral(value) || !Number.isInteger(from) || (count !== undefined && !Number.isInteger(count))) return anyText
  const start = from < 0 ? Math.max(value.length + from, 0) : from
  if (count === undefined) return value.slice(start)
  return count < 0 ? value.slice(start, count) : value.slice(start, start + count)
}

function changeCase(value: Field, operator: string): Field {
  const change = (text: string): string => (operator.startsWith('^') ? text.toUpperCase() : text.toLowerCase())
  return operator.length === 2 ? change(value) : change(value.slice(0, 1)) + value.slice(1)
}

function transform(value: Field, operator: string): Field {
  if (operator === 'U') return value.toUpperCase()
  if (operator === 'L') return value.toLowerCase()
  if (operator === 'u') return changeCase(value, '^')
  return anyText
}
