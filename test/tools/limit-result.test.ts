import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textIn, type ToolMessage } from '#agent/core/message.ts'
import { cutMiddle, getResultLimits, maxLimits, openBatch, spillText } from '#tools/limit-result.ts'

const result = (callId: string, length: number): ToolMessage => ({
  role: 'tool',
  callId,
  name: 'web_extract',
  content: [{ type: 'text', text: callId[0]!.repeat(length) }],
  failed: false,
})

describe('the limits of results', () => {
  it.each([
    ['an unknown window', undefined, 100_000, 200_000],
    ['200,000 tokens', 200_000, 100_000, 200_000],
    ['64,000 tokens: 15 % and 30 % in characters', 64_000, 38_400, 76_800],
    ['a tiny window: what a result needs', 8_000, 8_000, 16_000],
  ])('for %s', (_name, window, perResult, perBatch) => {
    expect(getResultLimits(window)).toEqual({ perResult, perBatch })
  })
})

describe('a batch', () => {
  const limits = { perResult: 10_000, perBatch: 20_000 }
  function open(earlier: readonly ToolMessage[] = []) {
    const stored: string[] = []
    const shorten = (callId: string) => {
      stored.push(callId)
      return `stored ${callId}`
    }
    return { stored, batch: openBatch({ earlier, limits, shorten }) }
  }

  it('stores a result that is longer than its limit, except of tools with a limit of their own', async () => {
    const { batch, stored } = open()
    expect(textIn((await batch.add(result('a', 10_001))).message)).toBe('stored a')
    expect(textIn((await batch.add(result('b', 15_000), Infinity)).message)).toHaveLength(15_000)
    expect(stored).toEqual(['a'])
  })

  it('stores the largest results first when all together are too long', async () => {
    const { batch, stored } = open()
    await batch.add(result('a', 9_000))
    await batch.add(result('b', 4_000))
    const third = await batch.add(result('c', 8_000))
    expect(stored).toEqual(['a'])
    expect(third.shortened).toEqual([{ callId: 'a', part: 0, text: 'stored a' }])
    expect(textIn(third.message)).toHaveLength(8_000)
  })

  it('shortens results of an earlier group too', async () => {
    const { batch, stored } = open([result('a', 9_600), result('b', 9_500)])
    const { message, shortened } = await batch.add(result('c', 2_000))
    expect(stored).toEqual(['a'])
    expect(shortened.map(({ callId }) => callId)).toEqual(['a'])
    expect(textIn(message)).toHaveLength(2_000)
  })

  it('leaves short results alone, because their preview would be as long', async () => {
    const { batch, stored } = open(Array.from({ length: 9 }, (_, i) => result(`${i}`, 2_500)))
    await batch.add(result('z', 2_500))
    expect(stored).toEqual([])
  })

  it('stores the same results in whatever order they come', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 1, max: 10_000 }), { minLength: 1, maxLength: 8 }),
        fc.infiniteStream(fc.nat()),
        async (lengths, seeds) => {
          const kept = async (order: readonly number[]) => {
            const { batch, stored } = open()
            for (const length of order) await batch.add(result(`x${length}`, length))
            return stored.toSorted()
          }
          const shuffled = lengths.toSorted(() => (seeds.next().value % 2 ? 1 : -1))
          expect(await kept(shuffled)).toEqual(await kept(lengths))
        },
      ),
    )
  })
})

describe('a stored text', () => {
  const text = 'z'.repeat(50_000)
  it('leaves a preview and the path', async () => {
    const logError = () => {}
    const short = await spillText({ callId: 'c', text }, { spill: async () => '/tmp/results/c.txt', logError })
    expect(JSON.parse(short)).toEqual({
      persisted_output: { path: '/tmp/results/c.txt', characters: 50_000, read_with: 'read_file' },
      preview: 'z'.repeat(1_500),
    })
  })

  it('leaves its beginning when it cannot be stored, half as long as a result may be', async () => {
    const errors: unknown[] = []
    const options = { spill: () => Promise.reject(new Error('full')), logError: (error: unknown) => errors.push(error) }
    const short = JSON.parse(
      await spillText({ callId: 'c', text }, options, { ...maxLimits, perResult: 8_000 }),
    ) as object
    expect(short).toEqual({ truncated: true, characters: 50_000, preview: 'z'.repeat(4_000) })
    expect(errors).toHaveLength(1)
    expect(cutMiddle(text, 100)).toMatch(/^z{50}\n\[… 49900 characters were cut out here …\]\nz{50}$/)
  })
})
