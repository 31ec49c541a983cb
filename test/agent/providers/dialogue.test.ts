/** Runs one conversation through all dialects: each must accept the replies of the others. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '#agent/core/dialect.ts'
import { type AssistantMessage, callsIn, type Message, textIn, userText } from '#agent/core/message.ts'
import type { RecordedResponse, DialectHarness } from './support/conformance.ts'
import { isLong, itInTurn } from '../../support/long.ts'
import { toolResult, pixelPng, tools } from './support/requests.ts'
import { dialectHarnesses } from './support/dialects.ts'

const image = { type: 'image', mediaType: 'image/png', data: pixelPng } as const
const createRequest = (transcript: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'model-1',
  system: 'Be kind.',
  transcript,
  tools,
  maxTokens: 16_000,
  ...more,
})

async function callAndValidate(
  harness: DialectHarness,
  transcript: readonly Message[],
  response: RecordedResponse,
): Promise<AssistantMessage> {
  const quirks = harness.thinkingQuirks ?? {}
  const modelRequest = createRequest(transcript, { reasoningEffort: 'high', cache: '1h' })
  const { body, reply, error } = await harness.exchange(modelRequest, response, { quirks })
  const json = JSON.stringify(body)
  const results = transcript.flatMap((one) => (one.role === 'tool' ? [textIn(one)] : []))
  expect({
    dialect: harness.name,
    violations: harness.findViolations(body),
    missingResults: results.filter((result) => !json.includes(result)),
    error,
  }).toEqual({ dialect: harness.name, violations: [], missingResults: [], error: undefined })
  return reply?.message as AssistantMessage
}

/** A recorded response is used several times, but a provider sends a new id each time. */
function withFreshId(answer: AssistantMessage, nth: number): AssistantMessage {
  const content = answer.content.map((part) => {
    const data = part.type === 'text' ? undefined : part.sealed?.data
    if (part.type === 'text' || typeof data !== 'object' || data === null || !('id' in data)) return part
    return { ...part, sealed: { by: part.sealed?.by ?? '', data: { ...data, id: `${String(data.id)}_${nth}` } } }
  })
  return { ...answer, content }
}

const resultsFor = (answer: AssistantMessage, at: number): Message[] =>
  callsIn(answer).map(({ id, name }, i) =>
    toolResult(id, `result ${at}.${i}`, {
      name,
      failed: i === 1,
      content: [{ type: 'text', text: `result ${at}.${i}` }, ...(at % 3 === 0 ? [image] : [])],
    }),
  )

/** Each test has hundreds of exchanges. */
const longTest = { timeout: 120_000 }

describe('a conversation of twenty turns', longTest, () => {
  it('works when every call uses another dialect', async () => {
    const transcript: Message[] = []
    let calls = 0
    const next = () => dialectHarnesses[calls++ % dialectHarnesses.length] as DialectHarness
    for (let turn = 0; turn < 20; turn++) {
      transcript.push({
        role: 'user',
        content: [{ type: 'text', text: `turn ${turn}` }, ...(turn % 4 === 0 ? [image] : [])],
      })
      for (const situation of ['thoughtfulCall', 'calls', turn % 2 ? 'thinking' : 'text'] as const) {
        const harness = next()
        const answer = withFreshId(await callAndValidate(harness, transcript, harness.recordings[situation]), calls)
        transcript.push(answer, ...resultsFor(answer, turn))
      }
      // Shifts the order, so that each dialect gets different situations.
      calls += turn % 2
    }
    expect(transcript.filter(({ role }) => role === 'tool')).toHaveLength(20 * 3)
  })

  itInTurn('can be started by one dialect and continued by another, for every pair', async () => {
    let pairCount = 0
    for (const first of dialectHarnesses)
      for (const second of dialectHarnesses) {
        const transcript: Message[] = [userText('hello')]
        for (const [nth, harness] of [first, second, first].entries()) {
          const answer = withFreshId(await callAndValidate(harness, transcript, harness.recordings.thoughtfulCall), nth)
          transcript.push(answer, ...resultsFor(answer, 1))
        }
        const end = await callAndValidate(second, transcript, second.recordings.thinking)
        await callAndValidate(first, [...transcript, end, userText('and?')], first.recordings.text)
        pairCount++
      }
    expect(pairCount).toBe(dialectHarnesses.length ** 2)
  })
})

describe('any stored history', longTest, () => {
  const text = fc.constantFrom('', ' ', '\n\n', 'a', 'long text', 'half \ud83d of it', '漢字 😀')
  const textPart = text.map((one) => ({ type: 'text', text: one }) as const)
  const imagePart = fc
    .constantFrom(
      { mediaType: 'image/png', data: pixelPng },
      { mediaType: 'image/jpg', data: pixelPng },
      { mediaType: 'image/tiff', data: pixelPng },
      { mediaType: 'image/*;url', data: 'https://x.test/a.png' },
    )
    .map((one) => ({ type: 'image', ...one }) as const)
  const id = fc.constantFrom('1', '2', 'call_1', 'call|fc/1', 'é', '', 'x'.repeat(80))
  const input = fc.constantFrom<unknown>({}, { at: 'a' }, { at: '\ud83d' }, { deep: [{ n: null }] })
  const call = fc
    .record({ id, name: fc.constantFrom('look', 'find', 'no.such tool!', ''), input, broken: fc.boolean() })
    .map(({ broken, ...one }) => ({ type: 'call', ...one, ...(broken && { input: {}, raw: '{"at' }) }) as const)
  const thinking = fc.constantFrom(
    { type: 'thinking', text: 'hm' } as const,
    { type: 'thinking', text: '', sealed: { by: 'anthropic', data: { redacted: 'c2VhbGVk' } } } as const,
    { type: 'thinking', text: 'hm', sealed: { by: 'anthropic', data: { signature: 'c2VhbGVk' } } } as const,
    { type: 'thinking', text: 'hm', sealed: { by: 'bedrock-converse', data: { signature: 'c2VhbGVk' } } } as const,
    { type: 'thinking', text: 'hm', sealed: { by: 'nobody', data: 'c2VhbGVk' } } as const,
  )
  const answer = fc
    .array(fc.oneof(textPart, thinking, call), { maxLength: 4 })
    .map((content): Message => ({ role: 'assistant', content, stop: 'end' }))
  const result = fc
    .record({ callId: id, content: fc.array(fc.oneof(textPart, imagePart), { maxLength: 2 }), failed: fc.boolean() })
    .map((one): Message => ({ role: 'tool', name: 'look', ...one }))
  const userMessage = fc
    .array(fc.oneof(textPart, imagePart), { maxLength: 3 })
    .map((content): Message => ({ role: 'user', content }))
  /** Replies of the dialects themselves, with their own seals. */
  const recordedReplies = Promise.all(
    dialectHarnesses.flatMap((harness) =>
      (['thinking', 'thoughtfulCall', 'calls'] as const).map(async (situation) => {
        const { reply } = await harness.exchange(createRequest([userText('hello')]), harness.recordings[situation])
        return reply?.message as Message
      }),
    ),
  )
  const options = fc.record({
    tools: fc.constantFrom(tools, []),
    system: fc.constantFrom('', 'Be kind.'),
    cache: fc.constantFrom(undefined, '5m', '1h'),
    reasoningEffort: fc.constantFrom(undefined, 'none', 'low', 'high'),
    temperature: fc.constantFrom(undefined, 0.5),
    maxTokens: fc.constantFrom(1_000, 16_000),
    draft: fc.constantFrom(undefined, 'so far '),
    instruction: fc.constantFrom(undefined, 'Go on now.'),
    repairs: fc.constantFrom(
      {},
      { images: 'left-out' } as const,
      { thinking: 'left-out', toolContent: 'text' } as const,
      { schemas: 'plain', longContext: 'off' } as const,
    ),
  })

  it.each(dialectHarnesses.map((harness) => [harness.name, harness] as const))(
    'becomes a valid request: %s',
    async (_name, harness) => {
      const recorded = fc.constantFrom(...(await recordedReplies))
      const histories = fc.array(fc.oneof(userMessage, answer, result, recorded), { maxLength: 14 })
      const quirks = fc.constantFrom({}, { cacheMarks: 'native' } as const, harness.thinkingQuirks ?? {})
      await fc.assert(
        fc.asyncProperty(histories, options, quirks, async (history, more, own) => {
          // A request always follows a user message.
          const all = history.map((one, nth) => (one.role === 'assistant' ? withFreshId(one, nth) : one))
          const transcript = [...all, userText('now?')]
          const model = own.reasoning === 'adaptive' ? 'claude-opus-5' : 'claude-sonnet-4-5'
          const { body } = await harness.exchange(
            createRequest(transcript, { ...more, model }),
            harness.recordings.text,
            {
              quirks: own,
            },
          )
          expect(harness.findViolations(body)).toEqual([])
        }),
        { numRuns: isLong ? 150 : 40 },
      )
    },
  )
})
