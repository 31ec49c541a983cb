/**
 * Applies the difference between the quoted old text and the new text to the passage that was found for the old text.
 * The passage may differ from the quote in quotes, spaces and indentation, and everything that the edit does not change
 * keeps the form of the file.
 */

import { diffArrays } from 'diff'
import { similarity } from '../similarity.ts'
import { normaliseForm } from './normalised-search.ts'

type TextEdit = { readonly from: string; readonly to: string }

export function transferEdit(found: string, { from, to }: TextEdit): string {
  const [oldLines, newLines, foundLines] = [from, to, found].map(splitPassage) as [string[], string[], string[]]
  const indentation = createIndentation(oldLines, foundLines)
  const lines = pairLines(oldLines, newLines).map(({ line, old }) => {
    const [quoted, kept] = old === undefined ? [undefined, undefined] : [oldLines[old], foundLines[old]]
    if (quoted === undefined || kept === undefined) return indentation.convert(line)
    if (quoted === line) return kept
    const indent = indentOf(line) === indentOf(quoted) ? indentOf(kept) : indentOf(indentation.convert(line))
    return indent + transferWithinLine(kept.trimStart(), quoted.trimStart(), line.trimStart())
  })
  return lines.join('\n') + getEnd(found, { from, to })
}

/** A newline at the end of a passage does not add an empty line. Without a text there is no line. */
const splitPassage = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

function getEnd(found: string, { from, to }: TextEdit): string {
  const changes = from.endsWith('\n') !== to.endsWith('\n')
  return (changes ? to : found).endsWith('\n') && to !== '' ? '\n' : ''
}

const indentOf = (line: string): string => /^[^\S\n]*/.exec(line)?.[0] ?? ''

type Indentation = { readonly convert: (line: string) => string }

/** Learns from the lines of the quote how the file indents. */
function createIndentation(quoted: readonly string[], found: readonly string[]): Indentation {
  const known = new Map<string, string>()
  for (const [at, line] of quoted.entries())
    if (line.trim() !== '' && !known.has(indentOf(line))) known.set(indentOf(line), indentOf(found[at] ?? line))
  const units = [...known].map(([from, to]) => findUnits(from, to)).find((unit) => unit !== undefined)
  const byLength = [...known].toSorted(([one], [other]) => other.length - one.length)
  return {
    convert: (line) => {
      const indent = indentOf(line)
      if (line.trim() === '') return line
      const [from, to] = byLength.find(([begin]) => indent.startsWith(begin)) ?? ['', '']
      const rest = indent.slice(from.length)
      return to + (units ? rest.replaceAll(units.from, units.to) : rest) + line.slice(indent.length)
    },
  }
}

type Units = { readonly from: string; readonly to: string }

/** One step of indentation in the quote and in the file, when one has tabs and the other spaces. */
function findUnits(from: string, to: string): Units | undefined {
  const steps = from.startsWith('\t') ? from.length : to.length
  const isTabs = (text: string): boolean => /^\t+$/.test(text)
  const isSpaces = (text: string): boolean => /^ +$/.test(text)
  if (!(isTabs(from) && isSpaces(to)) && !(isSpaces(from) && isTabs(to))) return undefined
  const spaces = isTabs(from) ? to.length : from.length
  if (spaces % steps !== 0) return undefined
  const space = ' '.repeat(spaces / steps)
  return isTabs(from) ? { from: '\t', to: space } : { from: space, to: '\t' }
}

/** A line of the new text, and the line of the old text that it comes from. */
type PairedLine = { readonly line: string; readonly old: number | undefined }

const minPairSimilarity = 0.5
/** More comparisons would take seconds. Then changed lines are paired in their order. */
const maxComparisons = 500
const diffTimeoutMs = 1_000

function pairLines(oldLines: readonly string[], newLines: readonly string[]): PairedLine[] {
  const changes = diffArrays([...oldLines], [...newLines], { timeout: diffTimeoutMs })
  if (!changes) return pairChanged(newLines, [...oldLines.keys()], oldLines)
  const pairs: PairedLine[] = []
  let at = 0
  let removed: number[] = []
  for (const { value, removed: isRemoved, added } of changes) {
    if (isRemoved) removed = value.map((_, i) => at + i)
    else if (added) pairs.push(...pairChanged(value, removed, oldLines))
    else pairs.push(...value.map((line, i) => ({ line, old: at + i })))
    if (!isRemoved) removed = []
    if (!added) at += value.length
  }
  return pairs
}

/** Pairs changed lines that are similar, in their order. As many new lines as old ones are pairs. */
function pairChanged(added: readonly string[], removed: readonly number[], oldLines: readonly string[]): PairedLine[] {
  if (added.length === removed.length) return added.map((line, i) => ({ line, old: removed[i] }))
  const canCompare = added.length * removed.length <= maxComparisons
  let next = 0
  return added.map((line) => {
    const isPair = (old: number) =>
      !canCompare || similarity(line.trim(), (oldLines[old] ?? '').trim()) >= minPairSimilarity
    const at = removed.findIndex((old, i) => i >= next && isPair(old))
    if (at < 0) return { line, old: undefined }
    next = at + 1
    return { line, old: removed[at] }
  })
}

/** Words, runs of spaces, an ellipsis, and single other characters: what has one form in the file. */
const token = /[\p{L}\p{N}\p{M}_]+|\s+|\.{3}|[^]/gu

/** Writes the tokens that stay as the file has them. When the file reads differently, the new line is taken as it is. */
function transferWithinLine(found: string, from: string, to: string): string {
  const [file, quote] = [normaliseForm(found.trimEnd()), normaliseForm(from.trimEnd())]
  const isSame = file.text === quote.text
  const changes = isSame && diffArrays(splitTokens(from), splitTokens(to), { timeout: diffTimeoutMs })
  if (!changes) return to
  const starts = new Map(quote.starts.map((start, i) => [start, i]))
  const ends = new Map(quote.ends.map((end, i) => [end, i]))
  const asInFile = (text: string, at: number): string => {
    const [first, last] = [starts.get(at), ends.get(at + text.length)]
    return first !== undefined && last !== undefined ? found.slice(file.starts[first], file.ends[last]) : text
  }
  let at = 0
  let line = ''
  for (const { value, added, removed } of changes)
    for (const text of value) {
      if (added) line += text
      else if (!removed) line += asInFile(text, at)
      if (!added) at += text.length
    }
  return line
}

const splitTokens = (text: string): string[] => text.match(token) ?? []
