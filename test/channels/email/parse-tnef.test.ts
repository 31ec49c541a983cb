import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseMail } from '#channels/email/parse-mail.ts'
import { parseTnef } from '#channels/email/parse-tnef.ts'

const ascii = (text: string) => [...text].map((char) => char.charCodeAt(0))
const wide = (text: string) => [...`${text}\0`].flatMap((char) => [char.charCodeAt(0) & 0xff, char.charCodeAt(0) >> 8])
const number = (value: number, bytes: number) => Array.from({ length: bytes }, (_, n) => (value >>> (8 * n)) & 0xff)
const attribute = (level: number, id: number, value: readonly number[]) => [
  level,
  ...number(id, 4),
  ...number(value.length, 4),
  ...value,
  ...number(value.reduce((sum, byte) => sum + byte, 0) & 0xffff, 2),
]
const pad = (value: readonly number[]) => [...value, ...Array.from({ length: (4 - (value.length % 4)) % 4 }, () => 0)]
const variable = (type: number, id: number, value: readonly number[]) => [
  ...number(type, 2),
  ...number(id, 2),
  ...number(1, 4),
  ...number(value.length, 4),
  ...pad(value),
]
const properties = (...all: readonly (readonly number[])[]) => [...number(all.length, 4), ...all.flat()]
/** A named property of an unknown meaning, a number and a list of numbers stand before the texts. */
const others = [
  [
    ...number(0x1f, 2),
    ...number(0x8001, 2),
    ...number(0, 16),
    ...number(1, 4),
    ...number(6, 4),
    ...pad(wide('ab')),
    ...number(1, 4),
    ...number(4, 4),
    ...wide('x'),
  ],
  [...number(0x03, 2), ...number(0x0e07, 2), ...number(7, 4)],
  [...number(0x1003, 2), ...number(0x0e08, 2), ...number(2, 4), ...number(1, 4), ...number(2, 4)],
]
const file = (name: string, longName: string, content: readonly number[]) => [
  ...attribute(2, 0x00069002, number(0, 14)),
  ...attribute(2, 0x00018010, [...ascii(name), 0]),
  ...attribute(2, 0x0006800f, content),
  ...attribute(2, 0x00069005, properties(...others, variable(0x1f, 0x3707, wide(longName)))),
]
const tnef = (...parts: readonly (readonly number[])[]) =>
  Uint8Array.from([...number(0x223e9f78, 4), 1, 0, ...parts.flat()])
const winmail = tnef(
  attribute(1, 0x00069003, properties(...others, variable(0x1f, 0x1000, wide('See the plan.\r\nGrüße')))),
  file('PLAN~1.TXT', 'Plan für Köln.txt', ascii('first')),
  file('b.bin', 'b.bin', [0, 1, 2]),
)

const mail = async (body: string) => {
  const raw = [
    'Authentication-Results: mx.cloudflare.net; dmarc=pass header.from=friend.test',
    'From: Al <al@friend.test>',
    'To: agent@bar.test',
    'Subject: Plan',
    'Message-ID: <1@friend.test>',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    body,
    '--b',
    'Content-Type: application/ms-tnef; name="winmail.dat"',
    'Content-Transfer-Encoding: base64',
    'Content-Disposition: attachment; filename="winmail.dat"',
    '',
    btoa(String.fromCharCode(...winmail)),
    '--b--',
  ].join('\r\n')
  const envelope = { from: 'al@friend.test', to: 'agent@bar.test', receivedAt: 0 }
  return parseMail(new TextEncoder().encode(raw), envelope, undefined) as Promise<{
    readonly text: string
    readonly media: readonly { readonly name: string; readonly mime: string }[]
    readonly carried: readonly { readonly bytes: Uint8Array }[]
  }>
}

describe('a mail of Outlook with a winmail.dat', () => {
  it('has its text and its files', async () => {
    const { text, media, carried } = await mail('')
    expect(text).toBe('Subject: Plan\n\nSee the plan.\nGrüße')
    expect(media.map(({ name, mime }) => [name, mime])).toEqual([
      ['Plan für Köln.txt', 'text/plain'],
      ['b.bin', 'application/octet-stream'],
    ])
    expect(carried.map(({ bytes }) => [...bytes])).toEqual([ascii('first'), [0, 1, 2]])
  })

  it('keeps the text that stands beside it', async () => {
    const { text, media } = await mail('--b\r\nContent-Type: text/plain\r\n\r\nAs text.')
    expect(text).toBe('Subject: Plan\n\nAs text.')
    expect(media).toHaveLength(2)
  })
})

describe('parseTnef', () => {
  it('gives up bytes of another format, and ends where they end', () => {
    expect(parseTnef(Uint8Array.from(ascii('PK\x03\x04........')))).toBeUndefined()
    fc.assert(
      fc.property(fc.integer({ min: 0, max: winmail.length }), (length) => {
        expect(parseTnef(winmail.slice(0, length))?.files.length ?? 0).toBeLessThanOrEqual(2)
      }),
    )
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(() => parseTnef(Uint8Array.from([...winmail.slice(0, 6), ...bytes]))).not.toThrow()
      }),
    )
  })
})
