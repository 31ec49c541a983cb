import { expect, it } from 'vitest'
import { fitButtons } from '#durable/channels/fit-buttons.ts'

const hint = 'Press a button, or write an answer.'
const buttonsOf = (labels: readonly string[]) => labels.map((label, n) => [{ label, data: `${n}` }])
const limits = { maxRows: 3, maxPerRow: 1, maxLabelChars: 8, maxDataBytes: 64 }

type Row = { readonly text: string; readonly shown?: readonly (readonly string[])[]; readonly allowed?: typeof limits }

it.each<[string, readonly string[], Row]>([
  ['short ones', ['a', 'b'], { allowed: limits, text: `Q?\n\n${hint}`, shown: [['a'], ['b']] }],
  [
    'a long label',
    ['a', 'long label'],
    { allowed: limits, text: `Q?\n\n1. a\n2. long label\n\n${hint}`, shown: [['1'], ['2']] },
  ],
  [
    'too many',
    ['a', 'b', 'c', 'd'],
    { allowed: limits, text: `Q?\n\n1. a\n2. b\n3. c\n4. d\n\n${hint}`, shown: [['1'], ['2'], ['4']] },
  ],
  [
    'more than rows',
    ['a', 'b', 'c', 'd'],
    {
      allowed: { ...limits, maxPerRow: 2 },
      text: `Q?\n\n${hint}`,
      shown: [
        ['a', 'b'],
        ['c', 'd'],
      ],
    },
  ],
  ['ones without buttons', ['a', 'long label'], { text: 'Q?\n\n1. a\n2. long label\n\nWrite a number, or an answer.' }],
  ['none', [], { allowed: limits, text: `Q?\n\n${hint}` }],
])('fits choices: %s', (_name, labels, { allowed, text, shown }) => {
  const asked = fitButtons(`Q?\n\n${hint}`, buttonsOf(labels), allowed)
  expect(asked.text).toBe(text)
  expect(asked.buttons?.map((row) => row.map(({ label }) => label))).toEqual(shown)
})
