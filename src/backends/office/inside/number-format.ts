/** Renders the numbers of a workbook by the kind of their format: dates, times, durations and percentages. */

import { getAttribute, parseXml } from './xml-tokens.ts'

export type NumberKind = 'date' | 'time' | 'date-time' | 'duration' | 'percent' | 'plain'

/** The ids that every program knows. Those of the languages of East Asia are dates. */
const builtInKinds: readonly (readonly [from: number, to: number, kind: NumberKind])[] = [
  [9, 10, 'percent'],
  [14, 17, 'date'],
  [18, 21, 'time'],
  [22, 22, 'date-time'],
  [27, 31, 'date'],
  [32, 33, 'time'],
  [34, 36, 'date'],
  [45, 47, 'duration'],
  [50, 58, 'date'],
]

/** Returns the kind of each cell style. */
export function listNumberKinds(styles: string): readonly NumberKind[] {
  const codes = new Map<number, string>()
  const kinds: NumberKind[] = []
  let isInCellStyles = false
  for (const token of parseXml(styles)) {
    if (token.kind === 'text') continue
    if (token.name === 'cellXfs') isInCellStyles = token.kind === 'open' && !token.empty
    if (token.kind === 'close') continue
    const id = Number(getAttribute(token.attributes, 'numFmtId') ?? 0)
    if (token.name === 'numFmt') codes.set(id, getAttribute(token.attributes, 'formatCode') ?? '')
    else if (token.name === 'xf' && isInCellStyles) kinds.push(classifyFormat(id, codes.get(id)))
  }
  return kinds
}

function classifyFormat(id: number, code: string | undefined): NumberKind {
  if (code === undefined) return builtInKinds.find(([from, to]) => id >= from && id <= to)?.[2] ?? 'plain'
  const [section = ''] = removeLiterals(code).split(';')
  const letters = section.replaceAll(/\[[^\][]*\]/g, '').toLowerCase()
  if (/\[(?:h+|m+|s+)\]/i.test(section)) return 'duration'
  if (/general|standard|@/.test(letters)) return 'plain'
  return letters.includes('%') ? 'percent' : classifyLetters(letters)
}

/** `m` is a month, or minutes beside hours or seconds. */
function classifyLetters(letters: string): NumberKind {
  if (!/[hs]/.test(letters)) return /[ydm]/.test(letters) ? 'date' : 'plain'
  return /[yd]|mmm/.test(letters) ? 'date-time' : 'time'
}

/** Quoted text, escaped characters, and the characters that only take or fill space. */
const removeLiterals = (code: string): string => code.replaceAll(/"[^"]*"|\\.|[_*]./g, '')

const msPerDay = 86_400_000
/** The last day is in the year 9999. */
const maxSerial = 2_958_466

export function renderNumber(value: string, kind: NumberKind, isFrom1904: boolean): string {
  const number = Number(value)
  if (value.trim() === '' || !Number.isFinite(number)) return value
  if (kind === 'plain') return renderPlain(value, number)
  if (kind === 'percent') return `${Number((number * 100).toPrecision(12))} %`
  if (kind === 'duration') return renderDuration(number)
  if (number < 0 || number >= maxSerial) return value
  const seconds = Math.round(number * 86_400)
  if (kind === 'time' && seconds < 86_400) return renderClock(seconds)
  const date = new Date(Math.floor(seconds / 86_400) * msPerDay + getEpoch(number, isFrom1904))
  const day = date.toISOString().slice(0, 10)
  return kind === 'date' && seconds % 86_400 === 0 ? day : `${day} ${renderClock(seconds % 86_400)}`
}

/** Files store 17 digits, of which 15 are those that were entered: 1.1000000000000001 for 1.1. */
const renderPlain = (value: string, number: number): string =>
  /^-?\d+$/.test(value) ? value : String(Number(number.toPrecision(15)))

/** The calendar of 1900 has a 29 February that never was, so the days before it are one later. */
function getEpoch(serial: number, isFrom1904: boolean): number {
  if (isFrom1904) return Date.UTC(1904, 0, 1)
  return Date.UTC(1899, 11, serial < 60 ? 31 : 30)
}

const twoDigits = (number: number): string => String(number).padStart(2, '0')

function renderClock(seconds: number): string {
  const clock = `${twoDigits(Math.floor(seconds / 3_600))}:${twoDigits(Math.floor(seconds / 60) % 60)}`
  return seconds % 60 === 0 ? clock : `${clock}:${twoDigits(seconds % 60)}`
}

function renderDuration(days: number): string {
  const seconds = Math.round(Math.abs(days) * 86_400)
  const minutes = twoDigits(Math.floor(seconds / 60) % 60)
  return `${days < 0 ? '-' : ''}${Math.floor(seconds / 3_600)}:${minutes}:${twoDigits(seconds % 60)}`
}
