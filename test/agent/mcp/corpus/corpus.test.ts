/** Tests how many of 400 poisoned tools are caught, and that none of 400 ordinary ones is. */

import { expect, it } from 'vitest'
import { readListedTool } from '../../../../src/agent/mcp/listed-tool.ts'
import { ordinaryTexts } from './ordinary.ts'
import { poisonedTexts } from './poisoned.ts'

const tool = (more: object) => ({
  name: 'search_pages',
  description: 'Searches pages and returns their titles.',
  inputSchema: { type: 'object', properties: { query: { type: 'string', description: 'Words to look for.' } } },
  ...more,
})

const inParameter = (more: object) => ({
  inputSchema: { type: 'object', properties: { query: { type: 'string', description: 'Words.' }, extra: more } },
})

/** All of these reach the model. */
const places: readonly ((text: string) => object)[] = [
  (text) => tool({ description: `Searches pages and returns their titles. ${text}` }),
  (text) => tool(inParameter({ type: 'string', description: text })),
  (text) => tool(inParameter({ type: 'string', enum: ['short', text] })),
  (text) => tool({ title: text, annotations: { title: text } }),
]

const findAttack = (raw: object) => readListedTool(raw)?.attack
const everywhere = (texts: readonly string[]) =>
  texts.flatMap((text) => places.map((place) => ({ text, raw: place(text) })))

it('has 400 tools of each kind', () => {
  expect(new Set(Object.values(poisonedTexts).flat()).size * places.length).toBe(400)
  expect(new Set(ordinaryTexts).size * places.length).toBe(400)
})

it('catches at least 95 % of the poisoned tools', () => {
  const all = everywhere(Object.values(poisonedTexts).flat())
  const missed = all.filter(({ raw }) => findAttack(raw) === undefined)
  expect(missed.length / all.length, [...new Set(missed.map(({ text }) => text))].join('\n')).toBeLessThanOrEqual(0.05)
})

it.each(Object.entries(poisonedTexts))('catches most of each kind: %s', (_, texts) => {
  const all = everywhere(texts)
  expect(all.filter(({ raw }) => findAttack(raw) !== undefined).length / all.length).toBeGreaterThanOrEqual(0.8)
})

it('withholds no ordinary tool', () => {
  const withheld = everywhere(ordinaryTexts).filter(({ raw }) => findAttack(raw) !== undefined)
  expect(withheld.map(({ text, raw }) => `${text} → ${findAttack(raw)}`)).toEqual([])
})
