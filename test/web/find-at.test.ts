/** Tests how a day is found in a session, and what of an answer is read aloud. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findSeqAt } from '../../web/model/find-at.ts'
import { splitSentences, toPlainText } from '../../web/model/plain-text.ts'

describe('the first message of a time', () => {
  const find = async (messages: readonly (readonly [seq: number, at: number])[], time: number) => {
    let count = 0
    const load = async (seq: number) => {
      count++
      const found = messages.find(([one]) => one >= seq)
      return found && { seq: found[0], at: found[1] }
    }
    return { seq: await findSeqAt(time, messages.at(-1)?.[0] ?? 1, load), count }
  }

  it.each([
    [0, 2],
    [10, 2],
    [11, 5],
    [20, 5],
    [21, 9],
    [99, 9],
  ])('%i is message %i', async (time, seq) =>
    expect(
      (
        await find(
          [
            [2, 10],
            [5, 20],
            [9, 30],
          ],
          time,
        )
      ).seq,
    ).toBe(seq),
  )

  it('is found in few steps, wherever numbers are missing', () =>
    fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 0, max: 5_100 }),
        async (numbers, time) => {
          const messages = numbers.toSorted((one, other) => one - other).map((seq) => [seq, seq] as const)
          const { seq, count } = await find(messages, time)
          expect(seq).toBe((messages.find(([, at]) => at >= time) ?? messages.at(-1))?.[0])
          expect(count).toBeLessThan(20)
        },
      ),
    ))
})

describe('what is read aloud', () => {
  it.each([
    ['# Title\n\n- **one** and [two](https://x.y)', 'Title\none and two'],
    ['Before\n```js\nlet x = 1\n```\nAfter', 'Before\nAfter'],
    ['Before\n```js\nopen', 'Before'],
    ['| a | b |\n|---|---|\n| 1 | 2 |', 'a b\n1 2'],
    ['See https://example.org/long for it', 'See for it'],
    ['![a plot](p.png) 1. x', 'a plot 1. x'],
    ['', ''],
  ])('of %j is %j', (markdown, text) => expect(toPlainText(markdown)).toBe(text))

  it('comes in sentences', () => {
    expect(splitSentences('One. Two! Is it three? four\nfive')).toEqual([
      'One.',
      'Two!',
      'Is it three?',
      'four',
      'five',
    ])
    expect(splitSentences('x'.repeat(700)).map(({ length }) => length)).toEqual([300, 300, 100])
  })
})
