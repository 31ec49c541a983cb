/**
 * Tests that every regular expression of the source is linear on hostile text. The expressions come from the syntax trees;
 * each is tried on texts that repeat its own characters. Growth decides, so the speed of the machine does not matter.
 * Quadratic ones are found at 8 000 characters, and those with a small factor at the 30 000 of `npm run chaos`.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'acorn'
import { transform } from 'sucrase'
import { expect, it } from 'vitest'
import { isLong } from '../support/long.ts'
import { phrases } from '#agent/untrusted/scan/phrases.ts'
import { shapes } from '#agent/untrusted/injection-scan.ts'

/** Shorter times say nothing about growth. */
const minMs = 8
/**
 * The time of a text by that of its halves: 1 if the expression is linear, 2 if it is quadratic. Both take alike long, so
 * what else the machine does lengthens both.
 */
const maxGrowth = 1.5
/** For a linear expression with a large factor. Ten times what the slowest one of the source takes on a busy machine. */
const maxMs = 250

/**
 * A slash where an expression may begin: behind a sign or a word that no value ends with. Half of the files have none, and
 * are not parsed.
 */
const beginning =
  /(?:^|[-([{,;:=!&|?+%^~<>)}\]]|\b(?:return|typeof|case|in|of|do|else|void|delete|await|yield|new|instanceof|throw))\s*\/(?![/*])/m

type Expression = { readonly file: string; readonly source: string; readonly flags: string }

function listExpressions(root: string): readonly Expression[] {
  const found = new Map<string, Expression>()
  for (const file of readdirSync(root, { recursive: true }).map(String)) {
    if (!file.endsWith('.ts') || file.endsWith('.d.ts') || file.includes('dist')) continue
    const text = readFileSync(join(root, file), 'utf8')
    if (!isLong && !beginning.test(text)) continue
    const { code } = transform(text, { transforms: ['typescript'], disableESTransforms: true })
    visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), ({ regex }) => {
      if (regex) found.set(String(regex.pattern + regex.flags), { file, source: regex.pattern, flags: regex.flags })
    })
  }
  return [...found.values()]
}

type SyntaxNode = { readonly regex?: { readonly pattern: string; readonly flags: string } }

function visit(value: unknown, use: (node: SyntaxNode) => void): void {
  if (typeof value !== 'object' || value === null) return
  use(value as SyntaxNode)
  for (const child of Object.values(value)) visit(child, use)
}

const fillers = [...'aA0 \n\t-_"\'/.:=<({[\\\0é,$*&+@#']

/** Texts and characters that occur in the expression. */
function listUnits(source: string): readonly string[] {
  const plain = source
    .replace(/\\[bBdDwWsSnrtfv0]|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\p\{[^}]*\}|\(\?(?:[:=!]|<[=!]|<\w+>)/gi, '\uE000')
    .replace(/\\(.)/g, '$1')
  const runs = plain.match(/[^\uE000()[\]{}|*+?^$]{1,30}/g) ?? []
  const characters = [...runs.join('')].filter((character) => character !== '\uE000')
  return [...new Set([...runs, ...characters])].slice(0, isLong ? 45 : 20)
}

/** Returns a text of about this size. */
type Attack = (size: number) => string

const repeat =
  (unit: string, before = ''): Attack =>
  (size) =>
    before + unit.repeat(Math.ceil(size / unit.length)).slice(0, size)

function* listAttacks(source: string): Generator<Attack> {
  const units = listUnits(source)
  for (const unit of new Set([...units, ...fillers])) yield repeat(unit)
  const lead = units.slice(0, isLong ? 8 : 4)
  for (const unit of lead)
    for (const filler of 'a0 \n-"/.') {
      yield repeat(filler, unit)
      yield repeat(unit + filler)
    }
  if (lead.length) yield repeat(lead.join(''))
}

function search(expression: RegExp, text: string): void {
  expression.lastIndex = 0
  if (expression.global) text.replace(expression, '')
  else expression.exec(text)
}

/** CPU time of this thread, in ms. Some systems count it in steps of some ms, so only sums are exact. */
function readCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Returns the mean times of a text and of its halves, which take turns. */
function measure(expression: RegExp, text: string, tries = 4): { readonly whole: number; readonly halves: number } {
  const half = text.slice(0, text.length / 2)
  let [whole, halves] = [0, 0]
  for (let n = 0; n < tries; n++) {
    const start = readCpuMs()
    search(expression, text)
    const middle = readCpuMs()
    search(expression, half)
    search(expression, half)
    whole += middle - start
    halves += readCpuMs() - middle
  }
  return { whole: whole / tries, halves: halves / tries }
}

/** An expression that takes less on a quarter of a text stays below `minMs` on all of it, even if it is cubic. */
const minQuarterMs = 0.1

/** The time of the clock: no CPU time is longer. */
function clockMs(expression: RegExp, text: string): number {
  const start = performance.now()
  search(expression, text)
  return performance.now() - start
}

/** Whether the time of a text grows faster than its length, in each of several measurements. */
function isSlow(expression: RegExp, attack: Attack, size: number): boolean {
  // Nearly all texts end here.
  if (clockMs(expression, attack(size / 4)) <= minQuarterMs) return false
  const text = attack(size)
  if (clockMs(expression, text) <= minMs) return false
  return [1, 2, 3].every(() => {
    const { whole, halves } = measure(expression, text)
    return whole > maxMs || (whole > minMs && whole > maxGrowth * halves)
  })
}

/** Returns the first text that takes too long. */
function findSlowText(
  { source, flags }: Expression,
  sizes = isLong ? [500, 2_000, 30_000] : [500, 8_000],
): string | undefined {
  const expression = new RegExp(source, flags)
  for (const size of sizes)
    for (const attack of listAttacks(source))
      if (isSlow(expression, attack, size)) return `${size} characters such as ${JSON.stringify(attack(20))}`
  return undefined
}

it('every expression is linear on hostile text', { timeout: 180_000 }, () => {
  const expressions = listExpressions('src')
  expect(expressions.length).toBeGreaterThan(300)
  const slow = expressions.flatMap((expression) => {
    const text = findSlowText(expression)
    return text === undefined ? [] : [`${expression.file}: /${expression.source}/${expression.flags} on ${text}`]
  })
  expect(slow).toEqual([])
})

it('every expression that the injection scan puts together is linear', { timeout: 180_000 }, () => {
  const patterns = [...phrases.map(({ pattern }) => pattern), ...shapes.flatMap(({ all }) => all)]
  const slow = patterns.flatMap(({ source, flags }) => {
    const text = findSlowText({ file: '', source, flags })
    return text === undefined ? [] : [`/${source}/${flags} on ${text}`]
  })
  expect(slow).toEqual([])
})

it.each([
  { source: 'a+b', flags: '', isQuadratic: true },
  { source: '\\[[^\\]]*\\]\\(', flags: 'g', isQuadratic: true },
  { source: '<a[^>]{0,500}?href', flags: 'g', isQuadratic: false },
  { source: '[ab]{1,9}c', flags: 'g', isQuadratic: false },
])('finds that /$source/$flags is quadratic: $isQuadratic', ({ source, flags, isQuadratic }) => {
  expect(findSlowText({ file: '', source, flags }) !== undefined).toBe(isQuadratic)
})
