import { describe, expect, it } from 'vitest'
import { inSequence, overheadAt, overheadRows } from './overhead.ts'

describe('the overhead of a step', () => {
  it('is counted beyond another step and what both do', () => {
    const floor = inSequence([1, 1, 2], [0.5, 1.5, 0.5])
    expect(floor).toEqual([1.5, 2.5, 2.5])
    expect(overheadAt(0.5, { with: [4, 3, 5], without: floor })).toBe(1.5)
  })

  it('leaves out steps without a partner', () => {
    expect(inSequence([1, 2, 3], [1, 1])).toEqual([2, 3])
  })

  it('has its median by round, and its 95th percentile over all calls', () => {
    const rounds = [
      { with: [2, 2, 2], without: [1, 1, 1] },
      { with: [4, 4, 40], without: [1, 1, 1] },
    ]
    const [typical, late] = overheadRows('P0', 'a call', 3, rounds)
    expect(typical).toMatchObject({ samples: [1, 3], goal: { is: 'at most', value: 3 } })
    expect(late?.samples[0]).toBeCloseTo(30, 10)
    expect(late?.note).toContain('6 calls')
  })
})
