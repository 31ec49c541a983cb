import { describe, expect, it } from 'vitest'
import type { TouchedResources } from '#tools/group-calls.ts'
import { createCallQueue } from '#tools/code/program-calls.ts'

/** Calls whose end a test controls. */
function setUp() {
  const lane = createCallQueue()
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const call = (name: string, touched: TouchedResources) =>
    lane(touched, () => {
      begun.push(name)
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
    })
  const settle = async () => {
    for (let n = 0; n < 20; n++) await Promise.resolve()
  }
  const end = async (name: string) => {
    ends.get(name)?.()
    await settle()
  }
  return { lane, begun, call, end, settle }
}

describe('calls of a program', () => {
  it.each<[string, readonly TouchedResources[], number]>([
    ['that touch nothing run concurrently', ['nothing', 'nothing', 'nothing'], 3],
    ['that touch different resources run concurrently', [['a'], ['b'], 'nothing'], 3],
    ['that touch the same resource wait for each other', [['a'], ['a', 'b'], ['b']], 1],
    ['that must run alone wait for earlier calls', [['a'], 'alone', ['b']], 1],
    ['that must run alone block later calls', ['alone', ['a']], 1],
    ['that touch nothing overtake a blocked call', ['alone', 'nothing', ['a']], 2],
    ['are at most eight at a time', Array<TouchedResources>(12).fill('nothing'), 8],
  ])('%s', async (_, touched, atOnce) => {
    const { begun, call, settle } = setUp()
    for (const [i, what] of touched.entries()) void call(String(i), what)
    await settle()
    expect(begun).toHaveLength(atOnce)
  })

  it('start in order as soon as conflicting calls have ended', async () => {
    const { begun, call, end, settle } = setUp()
    for (const [name, touched] of [
      ['a1', ['a']],
      ['a2', ['a']],
      ['b1', ['b']],
      ['all', 'alone'],
      ['a3', ['a']],
    ] as const)
      void call(name, touched)
    await settle()
    expect(begun).toEqual(['a1', 'b1'])
    await end('a1')
    expect(begun).toEqual(['a1', 'b1', 'a2'])
    await end('b1')
    await end('a2')
    expect(begun).toEqual(['a1', 'b1', 'a2', 'all'])
    await end('all')
    expect(begun.at(-1)).toBe('a3')
  })

  it('let later calls start when nothing is left but to wait', async () => {
    const lane = createCallQueue()
    const first = lane('alone', (release) => (release(), Promise.withResolvers<string>().promise))
    expect(await Promise.race([first, lane('alone', async () => 'next')])).toBe('next')
  })

  it('free the queue when they fail', async () => {
    const lane = createCallQueue()
    await expect(lane('alone', async () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    expect(await lane('alone', async () => 'next')).toBe('next')
  })
})
