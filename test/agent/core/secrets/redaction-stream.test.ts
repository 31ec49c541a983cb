/** Tests that a stream masks what the whole text shows masked, in a table of all forms, wraps and splits of secrets. */

import { describe, expect, it } from 'vitest'
import { createRedactor } from '#agent/core/secrets/redaction.ts'
import { isLong } from '../../../support/long.ts'

const plain = 'hunter2-Zebra!correct'
const spaced = `K'9x $z"p\\w;A,b!#(c)~q`
const redactor = createRedactor([plain, spaced])

const hexOf = (text: string) => Buffer.from(text).toString('hex')
const base64Of = (text: string) => Buffer.from(text).toString('base64')
const percentOf = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

/** Lists the forms of a secret. Base64 stands at its three positions. */
function formsOf(secret: string): readonly string[] {
  const encoded = ['', 'p', 'pp', 'user:'].flatMap((before) =>
    ['', 'x', '>?>'].map((after) => base64Of(before + secret + after)),
  )
  const json = JSON.stringify(secret)
  return [
    secret,
    ...encoded,
    ...encoded.map((text) => text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')),
    hexOf(secret),
    hexOf(secret).toUpperCase(),
    encodeURIComponent(secret),
    encodeURIComponent(secret).toLowerCase(),
    percentOf(secret),
    json,
    JSON.stringify(json),
    secret.replace(/[^A-Za-z0-9]/g, '\\$&'),
    secret.replace(/["$\\]/g, '\\$&'),
    `***${secret.slice(secret.search(/[^A-Za-z0-9]/))}`,
  ]
}

const widths = Array.from({ length: 77 }, (_, at) => at + 4)
const ends = ['\n', '\r\n', '\\n', '\\r\\n', '\n  ', ' ', '\n\n']
const frames = [
  ['', ''],
  ['out: ', '\nnext line of prose\n'],
  ['first\nabc', ' end'],
  ['MY_TOKEN=', '\n'],
] as const

const wrap = (form: string, width: number, end: string) =>
  Array.from({ length: Math.ceil(form.length / width) }, (_, at) => form.slice(at * width, (at + 1) * width)).join(end)

/** A form as it is, and in lines of each width with each end. */
const wrapsOf = (form: string): readonly string[] => [
  form,
  ...widths.filter((width) => width < form.length).flatMap((width) => ends.map((end) => wrap(form, width, end))),
]

const texts = [plain, spaced]
  .flatMap(formsOf)
  .flatMap(wrapsOf)
  .flatMap((text) => frames.map(([before, after]) => before + text + after))

function createRandom(seed: number) {
  let state = seed
  return (limit: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % limit
  }
}

function streamed(text: string, nextLength: () => number, pauses = false): string {
  const stream = redactor.stream()
  let shown = ''
  for (let at = 0; at < text.length;) {
    const length = nextLength()
    shown += stream.push(text.slice(at, at + length))
    if (pauses) shown += stream.settle()
    at += length
  }
  return shown + stream.flush()
}

const rnd = createRandom(7)
const splits: readonly (readonly [string, () => number])[] = [
  ['1', () => 1],
  ['2', () => 2],
  ['5', () => 5],
  ['7', () => 7],
  ['64', () => 64],
  ['random', () => 1 + rnd(9)],
]
/** Lines at whose end a value begins with few characters, and carriage returns behind the last characters of a value. */
const hard = [
  ...[4, 5, 8, 10].flatMap((width) => ['', 'p', 'pppppp'].map((before) => wrap(base64Of(before + plain), width, '\n'))),
  `out: ${wrap(base64Of(`${plain}x`), 15, '\r\n')}\r\nnext line of prose\r\n`,
  `out: ${wrap(base64Of(`p${plain}>?>`), 16, '\r\n')}\r\nnext line of prose\r\n`,
  `X="${spaced.replace(/["$\\]/g, '\\$&')}" `,
  `***${spaced.slice(1)} `,
]
/** Primes, so that a sample has each form, width, end and frame. */
const sampleStep = isLong ? 5 : 83
/** Each split has a sample of its own. */
const sampleOf = (split: string) => {
  const first = splits.findIndex(([name]) => name === split)
  return texts.filter((_, at) => at % sampleStep === first % sampleStep)
}

describe('a stream', () => {
  it.each(splits)(
    'in pieces of %s masks what the whole text shows masked',
    (split, nextLength) => {
      let masked = 0
      const wrong: unknown[] = []
      for (const text of [...hard, ...sampleOf(split)]) {
        const whole = redactor.redact(text)
        if (whole !== text) masked++
        const shown = streamed(text, nextLength)
        if (shown !== whole) wrong.push([text, shown, whole])
      }
      expect([wrong.length, wrong.slice(0, 5)]).toEqual([0, []])
      expect(masked).toBeGreaterThan(isLong ? 1_600 : 100)
    },
    600_000,
  )

  it.each(splits)('that pauses behind pieces of %s shows at most four characters of a secret', (_, nextLength) => {
    for (const text of hard) {
      const whole = redactor.redact(text)
      const shown = streamed(text, nextLength, true)
      const [before = '', after = ''] = whole.split('***')
      expect(shown.split('***')).toHaveLength(2)
      expect([shown.startsWith(before), shown.endsWith(after)]).toEqual([true, true])
      expect(shown.length - whole.length).toBeLessThanOrEqual(4 + '\n'.length)
    }
  })

  it('that pauses shows whole lines', () => {
    const stream = redactor.stream()
    for (const line of ['Step 1 done\n', 'Listening on port 8080\n', 'ok\n', 'compiled\n'])
      expect(stream.push(line) + stream.settle()).toBe(line)
  })
})
