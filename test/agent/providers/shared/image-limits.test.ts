/** How many images a request has, how large they may be, and which of them stay at home. */

import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../../../src/agent/model/dialect.ts'
import type { Message } from '../../../../src/agent/model/message.ts'
import { renderMessagesBody as anthropicBody } from '../../../../src/agent/providers/anthropic/body.ts'
import { renderConverseBody as bedrockBody } from '../../../../src/agent/providers/bedrock/body.ts'
import { limitImages } from '../../../../src/agent/providers/shared/image-limits.ts'
import { getImageSize } from '../../../../src/agent/providers/shared/image-size.ts'
import { findAnthropicViolations } from '../fakes/anthropic.ts'
import { findBedrockViolations } from '../fakes/bedrock.ts'
import { toolResult, pixelPng } from '../support/requests.ts'

const base64 = (...bytes: readonly number[]) => btoa(String.fromCharCode(...bytes))
const image = (data: string, mediaType = 'image/png') => ({ type: 'image', mediaType, data }) as const
const four = (n: number) => [n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255]
const letters = (text: string) => [...text].map((letter) => letter.charCodeAt(0))
/** The head of a PNG; `n` makes it one of its own. */
const png = (width: number, height = 1, n = 0) =>
  image(
    base64(0x89, ...letters('PNG\r\n\u001a\n'), ...four(13), ...letters('IHDR'), ...four(width), ...four(height), n, 0),
  )

describe('the pixels of an image', () => {
  const app1 = [0xff, 0xe1, 0, 8, 1, 2, 3, 4, 5, 6]
  const frame = [0xff, 0xc2, 0, 17, 8, 0x0b, 0xb8, 0x0f, 0xa0, 3]
  const riff = (...rest: readonly number[]) => base64(...letters('RIFF'), 0, 0, 0, 0, ...letters('WEBP'), ...rest)
  it.each([
    ['PNG', png(9_000, 20), [9_000, 20]],
    ['GIF', image(base64(...letters('GIF89a'), 0x2c, 0x01, 0x0a, 0, ...Array(12).fill(0)), 'image/gif'), [300, 10]],
    ['JPEG', image(base64(0xff, 0xd8, ...app1, ...frame, 0, 0, 0), 'image/jpeg'), [4_000, 3_000]],
    [
      'WebP, extended',
      image(riff(...letters('VP8X'), 10, 0, 0, 0, 0, 0, 0, 0, 0x0f, 0x27, 0, 0x63, 0, 0), 'image/webp'),
      [10_000, 100],
    ],
    [
      'WebP, lossy',
      image(riff(...letters('VP8 '), 9, 0, 0, 0, 0, 0, 0, 0x9d, 0x01, 0x2a, 0x20, 0x03, 0x58, 0x02), 'image/webp'),
      [800, 600],
    ],
    [
      'WebP, lossless',
      image(riff(...letters('VP8L'), 9, 0, 0, 0, 0x2f, 0x1f, 0xc3, 0x95, 0, ...Array(6).fill(0)), 'image/webp'),
      [800, 600],
    ],
  ] as const)('are read from its head: %s', (_name, part, [width, height]) => {
    expect(getImageSize(part)).toEqual({ width, height })
  })

  it.each([
    ['an address', image('https://x.test/a.png', 'image/png;url')],
    ['no picture', image(btoa('this is not a picture at all'))],
    ['a JPEG that is cut', image(base64(0xff, 0xd8, 0xff, 0xe1, 0xff, 0xff, ...Array(20).fill(0)), 'image/jpeg')],
  ])('are unknown of %s', (_name, part) => expect(getImageSize(part)).toBe(undefined))
})

const asked = (...parts: readonly ReturnType<typeof png>[]): Message => ({
  role: 'user',
  content: [{ type: 'text', text: 'look' }, ...parts],
})
const answer: Message = { role: 'assistant', content: [{ type: 'text', text: 'yes' }], stop: 'end' }
const talk = (images: number, of: (n: number) => ReturnType<typeof png> = (n) => png(10, 1, n)): Message[] =>
  Array.from({ length: images }, (_, n) => [asked(of(n)), answer]).flat()
const isShown = (messages: readonly Message[]) =>
  messages
    .flatMap((message) => (message.role === 'user' ? message.content.slice(1) : []))
    .map(({ type }) => type === 'image')

describe('images of a request', () => {
  const limits = { maxImages: 8, maxSidePx: 8_000, whenOver: { images: 4, maxSidePx: 2_000 } }
  const shown = (messages: readonly Message[]) => isShown(limitImages(messages, limits))

  it('are all there up to the limit, in the same messages', () => {
    const all = talk(8)
    expect(limitImages(all, limits)).toBe(all)
  })

  it('are left out from the oldest on, a quarter of the limit at once', () => {
    const out = (images: number) => shown(talk(images)).filter((one) => !one).length
    expect([8, 9, 10, 11, 12, 13].map(out)).toEqual([0, 2, 2, 4, 4, 6])
    expect(shown(talk(9))).toEqual([false, false, true, true, true, true, true, true, true])
  })

  it('with too many pixels are left out by themselves', () => {
    const all = [asked(png(10)), answer, asked(png(8_001)), answer, asked(png(10, 8_001)), answer, asked(png(8_000))]
    expect(shown(all)).toEqual([true, false, false, true])
  })

  it('with many pixels have fewer beside them', () => {
    const wide = (n: number) => png(n === 4 ? 2_001 : 10, 1, n)
    expect(shown(talk(5, wide))).toEqual([false, true, true, true, true])
    expect(shown(talk(4, wide))).toEqual([true, true, true, true])
  })

  it('of results count as well, and what is left out is named in its place', () => {
    const result = toolResult('call_1', 'see', { content: [{ type: 'text', text: 'see' }, png(9_000)] })
    const [left] = limitImages([result], limits)
    expect(left).toMatchObject({
      content: [{ text: 'see' }, { type: 'text', text: expect.stringContaining('pixels') }],
    })
    expect(result.content[1]).toMatchObject({ type: 'image' })
  })

  it('stay as they were written while the conversation grows, so that it can be cached', () => {
    const all = talk(9)
    const before = [...limitImages(all, limits)]
    all.push(...talk(1))
    const after = limitImages(all, limits)
    expect(after.slice(0, before.length).every((message, at) => message === before[at])).toBe(true)
  })
})

describe('a request with very many images', () => {
  const real = (n: number): Message[] => talk(n, () => image(pixelPng))
  const request = (transcript: readonly Message[]): ModelRequest => ({
    model: 'claude-sonnet-4-5',
    system: '',
    transcript: [...transcript, asked(image(pixelPng))],
    tools: [],
    maxTokens: 1_000,
  })
  const read = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes)) as object
  const countIn = (body: object) => JSON.stringify(body).split(pixelPng).length - 1

  it.each([
    ['anthropic', anthropicBody, findAnthropicViolations, 100],
    ['bedrock-converse', bedrockBody, findBedrockViolations, 20],
  ] as const)('has no more of them than %s takes', (_name, bodyOf, faults, most) => {
    const body = read(bodyOf(request(real(130))))
    expect(countIn(body)).toBeGreaterThan(most * 0.7)
    expect(countIn(body)).toBeLessThanOrEqual(most)
    expect(JSON.stringify(body)).toContain('left out because there are too many')
    expect(faults(body)).toEqual([])
    expect(countIn(read(bodyOf(request(real(10)))))).toBe(11)
  })
})
