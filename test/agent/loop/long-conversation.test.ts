import { beforeAll, describe, expect, it } from 'vitest'
import { dialectHarnesses } from '../providers/support/dialects.ts'
import { LongConversation } from './long-conversation.ts'
import { isLong } from '../../support/long.ts'
import { randomFrom } from './simulation.ts'

const turns = Number(process.env['TURNS'] ?? 400)
/** Conversations that each dialect renders: the newest ones. */
const maxSamples = isLong ? 40 : 8
const seed = Number(process.env['SEED'] ?? 1)

describe(`a conversation of ${turns} turns in a window of 16,000 tokens, with deaths and failing summaries`, () => {
  const conversation = new LongConversation(randomFrom(seed))
  beforeAll(() => conversation.run(turns), 120_000)

  it('is compressed as often as needed', () => {
    expect(conversation.store.compressions).toBeGreaterThan(turns / 40)
    expect(conversation.failedSummaries).toBeGreaterThan(0)
    expect(conversation.deaths.length).toBeGreaterThan(turns / 20)
    expect(conversation.deaths).toEqual(expect.arrayContaining(['calling-model', 'tools']))
  })

  it('answers every request, never loses one or the todo list, and keeps its prefix between compressions', () => {
    expect(conversation.violations).toEqual([])
  })

  it('takes each effect exactly once', () => {
    const wanted = Array.from({ length: turns }, (_, i) => ((i + 1) % 25 === 0 ? 40 : (i + 1) % 4))
    expect([...conversation.effects].filter(([, times]) => times !== 1)).toEqual([])
    expect(conversation.effects.size).toBe(wanted.reduce((sum, count) => sum + count, 0))
  })

  it('stores every message, with those that summaries have replaced', () => {
    const { entries } = conversation.store
    const asked = entries.filter(({ message }) => message.role === 'user' && !message.source)
    expect(asked).toHaveLength(turns)
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, i) => i + 1))
  })

  it.each(dialectHarnesses.map((harness) => [harness.name, harness] as const))(
    'sends requests that %s accepts after each compression',
    async (_name, { exchange, findViolations, recordings }) => {
      for (const transcript of conversation.samples.slice(-maxSamples)) {
        const request = { model: 'm', system: 'Be kind.', transcript, tools: [], maxTokens: 1_000 }
        const { body } = await exchange(request, Object.values(recordings)[0] as never, { quirks: {} })
        expect(findViolations(body)).toEqual([])
      }
    },
    60_000,
  )
})
