import { describe, expect, it } from 'vitest'
import { estimate, median, quantile } from './stats.ts'

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => n - i)

describe('an estimate', () => {
  it('has the median, between two values when their number is even', () => {
    expect(median([3, 1, 2])).toBe(2)
    expect(median([4, 1, 3, 2])).toBe(2.5)
    expect(quantile(upTo(101), 0.95)).toBe(96)
  })

  it('leaves out as many values on each side as 95 % allow', () => {
    expect(estimate(upTo(20))).toEqual({ median: 10.5, low: 6, high: 15, n: 20 })
    expect(estimate(upTo(10))).toMatchObject({ low: 2, high: 9 })
  })

  it('spans everything when there is little', () => {
    expect(estimate(upTo(5))).toMatchObject({ low: 1, high: 5 })
    expect(estimate([7])).toEqual({ median: 7, low: 7, high: 7, n: 1 })
  })
})
