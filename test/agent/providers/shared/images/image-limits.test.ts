import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '#agent/core/dialect.ts'
import type { Message } from '#agent/core/message.ts'
import { renderMessagesBody as anthropicBody } from '#agent/providers/anthropic/body.ts'
import { renderConverseBody as bedrockBody } from '#agent/providers/bedrock/body.ts'
import { limitImages } from '#agent/providers/shared/images/image-limits.ts'
import { findAnthropicViolations } from '../../fakes/anthropic.ts'
import { findBedrockViolations } from '../../fakes/bedrock.ts'
import { image, png } from '../../support/images.ts'
import { pixelPng, toolResult } from '../../support/requests.ts'

const userMessage = (...parts: readonly ReturnType<typeof png>[]): Message => ({
  role: 'user',
  content: [{ type: 'text', text: 'look' }, ...parts],
})
const reply: Message = { role: 'assistant', content: [{ type: 'text', text: 'yes' }], stop: 'end' }
const createTranscript = (
  images: number,
  of: (n: number) => ReturnType<typeof png> = (n) => png(10, 1, n),
): Message[] => Array.from({ length: images }, (_, n) => [userMessage(of(n)), reply]).flat()
const listShownImages = (messages: readonly Message[]) =>
  messages
    .flatMap((message) => (message.role === 'user' ? message.content.slice(1) : []))
    .map(({ type }) => type === 'image')

describe('limitImages', () => {
  const limits = { maxImages: 8, maxSidePx: 8_000, whenOver: { images: 4, maxSidePx: 2_000 } }
  const listShown = (messages: readonly Message[]) => listShownImages(limitImages(messages, limits))

  it('keeps all images up to the limit, and the same messages', () => {
    const all = createTranscript(8)
    expect(limitImages(all, limits)).toBe(all)
  })

  it('omits the oldest images, a quarter of the limit at once', () => {
    const omitted = (images: number) => listShown(createTranscript(images)).filter((one) => !one).length
    expect([8, 9, 10, 11, 12, 13].map(omitted)).toEqual([0, 2, 2, 4, 4, 6])
    expect(listShown(createTranscript(9))).toEqual([false, false, true, true, true, true, true, true, true])
  })

  it('omits images with too many pixels', () => {
    const all = [
      userMessage(png(10)),
      reply,
      userMessage(png(8_001)),
      reply,
      userMessage(png(10, 8_001)),
      reply,
      userMessage(png(8_000)),
    ]
    expect(listShown(all)).toEqual([true, false, false, true])
  })

  it('has a lower limit for the number of images when one is large', () => {
    const wide = (n: number) => png(n === 4 ? 2_001 : 10, 1, n)
    expect(listShown(createTranscript(5, wide))).toEqual([false, true, true, true, true])
    expect(listShown(createTranscript(4, wide))).toEqual([true, true, true, true])
  })

  it('counts images in tool results, and puts a note in their place', () => {
    const result = toolResult('call_1', 'see', { content: [{ type: 'text', text: 'see' }, png(9_000)] })
    const [left] = limitImages([result], limits)
    expect(left).toMatchObject({
      content: [{ text: 'see' }, { type: 'text', text: expect.stringContaining('pixels') }],
    })
    expect(result.content[1]).toMatchObject({ type: 'image' })
  })

  it('returns the same messages while the conversation grows, so that they can be cached', () => {
    const all = createTranscript(9)
    const before = [...limitImages(all, limits)]
    all.push(...createTranscript(1))
    const after = limitImages(all, limits)
    expect(after.slice(0, before.length).every((message, at) => message === before[at])).toBe(true)
  })
})

describe('a request with very many images', () => {
  const pixelTranscript = (n: number): Message[] => createTranscript(n, () => image(pixelPng))
  const request = (transcript: readonly Message[]): ModelRequest => ({
    model: 'claude-sonnet-4-5',
    system: '',
    transcript: [...transcript, userMessage(image(pixelPng))],
    tools: [],
    maxTokens: 1_000,
  })
  const parseBody = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes)) as object
  const countIn = (body: object) => JSON.stringify(body).split(pixelPng).length - 1

  it.each([
    ['anthropic', anthropicBody, findAnthropicViolations, 100],
    ['bedrock-converse', bedrockBody, findBedrockViolations, 20],
  ] as const)('stays within the limit of %s', (_name, bodyOf, findViolations, limit) => {
    const body = parseBody(bodyOf(request(pixelTranscript(130))))
    expect(countIn(body)).toBeGreaterThan(limit * 0.7)
    expect(countIn(body)).toBeLessThanOrEqual(limit)
    expect(JSON.stringify(body)).toContain('left out because there are too many')
    expect(findViolations(body)).toEqual([])
    expect(countIn(parseBody(bodyOf(request(pixelTranscript(10)))))).toBe(11)
  })
})
