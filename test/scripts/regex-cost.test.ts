/**
 * Tests that every regular expression of the source is fast on hostile text. The expressions come from the syntax trees;
 * each is tried on texts that repeat its own characters. Quadratic ones fail at 12 000 characters, and those with a small
 * factor at the 30 000 of `npm run chaos`.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'acorn'
import { transform } from 'sucrase'
import { expect, it } from 'vitest'
import { isLong } from '../support/long.ts'
import { phrases } from '#agent/untrusted/scan/phrases.ts'
import { shapes } from '#agent/untrusted/injection-scan.ts'

const maxMs = 20

type Expression = { readonly file: string; readonly source: string; readonly flags: string }

function listExpressions(root: string): readonly Expression[] {
  const found = new Map<string, Expression>()
  for (const file of readdirSync(root, { recursive: true }).map(String)) {
    if (!file.endsWith('.ts') || file.endsWith('.d.ts') || file.includes('dist')) continue
    const { code } = transform(readFileSync(join(root, file), 'utf8'), {
      transforms: ['typescript'],
      disableESTransforms: true,
    })
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

function* listAttacks(source: string, size: number): Generator<string> {
  const repeat = (unit: string) => unit.repeat(Math.ceil(size / unit.length)).slice(0, size)
  const units = listUnits(source)
  for (const unit of new Set([...units, ...fillers])) yield repeat(unit)
  const lead = units.slice(0, isLong ? 8 : 4)
  for (const unit of lead)
    for (const filler of 'a0 \n-"/.') {
      yield unit + repeat(filler)
      yield repeat(unit + filler)
    }
  if (lead.length) yield repeat(lead.join(''))
}

/** CPU time of this thread, in ms: other tests that run beside this one do not count. */
function readCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

function measure(expression: RegExp, text: string): number {
  const start = readCpuMs()
  expression.lastIndex = 0
  if (expression.global) text.replace(expression, '')
  else expression.exec(text)
  return readCpuMs() - start
}

const referenceText = 'a'.repeat(30_000)
/** On a quiet machine. */
const referenceMs = 20

/** Returns how much slower this thread is now than on a quiet machine: CPU time grows with what other cores do. */
const readSlowness = () => Math.max(1, measure(/[ab]{1,99}c/g, referenceText) / referenceMs)

function isSlow(expression: RegExp, text: string): boolean {
  const ms = measure(expression, text)
  return ms > maxMs && ms > maxMs * readSlowness()
}

/** Returns the first text that takes too long, also when it is tried again. */
function findSlowText(
  { source, flags }: Expression,
  sizes = isLong ? [500, 2_000, 30_000] : [500, 12_000],
): string | undefined {
  const expression = new RegExp(source, flags)
  for (const size of sizes)
    for (const text of listAttacks(source, size))
      if (Array.from({ length: 4 }).every(() => isSlow(expression, text)))
        return `${size} characters such as ${JSON.stringify(text.slice(0, 20))}`
  return undefined
}

it('every expression takes at most 20 ms on hostile text', { timeout: 180_000 }, () => {
  const expressions = listExpressions('src')
  expect(expressions.length).toBeGreaterThan(300)
  const slow = expressions.flatMap((expression) => {
    const text = findSlowText(expression)
    return text === undefined ? [] : [`${expression.file}: /${expression.source}/${expression.flags} on ${text}`]
  })
  expect(slow).toEqual([])
})

it('every expression that the injection scan puts together takes at most 20 ms', { timeout: 180_000 }, () => {
  const patterns = [...phrases.map(({ pattern }) => pattern), ...shapes.flatMap(({ all }) => all)]
  const slow = patterns.flatMap(({ source, flags }) => {
    const text = findSlowText({ file: '', source, flags })
    return text === undefined ? [] : [`/${source}/${flags} on ${text}`]
  })
  expect(slow).toEqual([])
})

it('finds a quadratic expression', () => {
  // 72 million steps: several times the limit on every machine, and never minutes.
  expect(findSlowText({ file: '', source: 'a+b', flags: '' }, [12_000])).toBeDefined()
  expect(findSlowText({ file: '', source: '[ab]{1,9}c', flags: 'g' })).toBeUndefined()
})
