/**
 * Runs the same tests on every dialect. A dialect supplies a harness: how to call it, a validator that finds what the
 * provider would reject, and recorded responses for the situations below.
 */

import { describe, expect, it } from 'vitest'
import type { Delta, ModelRequest, Quirks, DialectReply } from '#agent/core/dialect.ts'
import { isStreamBroken } from '#agent/core/dialect.ts'
import type { FailureKind } from '#agent/core/failure.ts'
import type { AssistantMessage } from '#agent/core/message.ts'
import { classifyError } from '#agent/providers/errors/classify-error.ts'
import { requests, appendToolResults } from './requests.ts'

/** A response of the provider. */
export type RecordedResponse = {
  readonly body: string | Uint8Array
  /** 200 when absent. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The event after the last byte: the end of the body (when absent), a lost connection, or silence. */
  readonly ending?: 'disconnects' | 'hangs'
}

export type Exchange = {
  /** The request body as the provider parses it. */
  readonly body: unknown
  /** The request body as text. */
  readonly text: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly deltas: readonly Delta[]
  /** The arguments of calls as they were reported, by the names of the tools. */
  readonly written: Readonly<Record<string, string>>
  readonly activityCount: number
  readonly reply?: DialectReply
  readonly error?: unknown
}

export type ExchangeOptions = {
  readonly quirks?: Quirks
  /** Called for every delta. May abort the call. */
  readonly onDelta?: (abort: () => void) => void
  /** The call is aborted before it starts. */
  readonly isAborted?: boolean
}

export type DialectHarness = {
  readonly name: string
  readonly exchange: (request: ModelRequest, response: RecordedResponse, options?: ExchangeOptions) => Promise<Exchange>
  /** Describes everything that the provider would reject; empty for a valid body. */
  readonly findViolations: (body: unknown) => readonly string[]
  readonly recordings: Recordings
  /** Quirks that enable thinking, for dialects without thinking by default. */
  readonly thinkingQuirks?: Quirks
}

/** Recorded responses by situation. `expected` has the message of each. */
export type Recordings = {
  readonly text: RecordedResponse
  /** Thinking, sealed if the dialect seals it. */
  readonly thinking: RecordedResponse
  readonly calls: RecordedResponse
  /** Thinking, then a call. */
  readonly thoughtfulCall: RecordedResponse
  readonly fragments: RecordedResponse
  readonly noArguments: RecordedResponse
  readonly usage: RecordedResponse
  readonly refusal: RecordedResponse
  readonly length: RecordedResponse
  readonly empty: RecordedResponse
  /** Ends after the text "half". */
  readonly cutText: RecordedResponse
  readonly cutCall: RecordedResponse
  /** "half", then an error of the kind `overloaded`. */
  readonly errorInside: RecordedResponse
  readonly errors: Readonly<Partial<Record<FailureKind, RecordedResponse>>>
}

const textPart = (text: string) => ({ type: 'text', text }) as const
const call = (id: string, name: string, input: object) => ({ type: 'call', id, name, input }) as const
const assistant = (stop: AssistantMessage['stop'], ...content: AssistantMessage['content']): AssistantMessage => ({
  role: 'assistant',
  content,
  stop,
})

export const expected = {
  text: assistant('end', textPart('Grüße, 世界 👋')),
  thinking: assistant('end', { type: 'thinking', text: 'hm yes' }, textPart('Yes.')),
  calls: assistant(
    'tools',
    textPart('Let me look.'),
    call('call_1', 'look', { at: 'a' }),
    call('call_2', 'find', { n: [2] }),
  ),
  thoughtfulCall: assistant('tools', { type: 'thinking', text: 'I must look.' }, call('call_9', 'look', { at: 'z' })),
  fragments: assistant('tools', call('call_1', 'look', { at: 'häuser "x"', deep: { n: [1, 2] } })),
  noArguments: assistant('tools', call('call_1', 'look', {})),
  length: assistant('length', textPart('half a')),
  empty: assistant('end'),
} as const

/** Input tokens without those read from the cache. */
export const expectedUsage = { input: 70, output: 20, cachedRead: 30 } as const

const removeSeals = ({ content, ...message }: AssistantMessage) => ({
  ...message,
  content: content.map((part) => {
    const copy: Record<string, unknown> = { ...part }
    delete copy['sealed']
    return copy
  }),
})

export const toFailure = (error: unknown) =>
  classifyError(error, {
    promptTokens: 1_000,
    contextWindow: 200_000,
    messageCount: 3,
    isReasoning: true,
    isAggregator: false,
    isStalled: false,
    now: 0,
  })

/** Joins every string inside a value. */
const joinTexts = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return ''
  return Object.values(value).map(joinTexts).join('\n')
}

/** Lists every string inside the sealed parts of a message. */
const listSeals = ({ content }: AssistantMessage): readonly string[] =>
  content.flatMap((part) => (part.type !== 'text' && part.sealed ? joinTexts(part.sealed.data).split('\n') : []))

const hello: ModelRequest = requests['a greeting'].request

export function describeConformance(harness: DialectHarness): void {
  const { recordings, exchange } = harness
  const send = (response: RecordedResponse, options?: ExchangeOptions) => exchange(hello, response, options)

  describe(`${harness.name}: a reply`, () => {
    const situations = Object.keys(expected) as (keyof typeof expected)[]
    it.each(situations)('is read correctly: %s', async (situation) => {
      const { reply, error, deltas } = await send(recordings[situation])
      expect(error).toBe(undefined)
      const message = expected[situation]
      expect(removeSeals(reply?.message as AssistantMessage)).toEqual(message)
      for (const of of ['text', 'thinking'] as const) {
        const reported = deltas.filter((delta) => delta.of === of).map((delta) => delta.text)
        expect(reported.join('')).toBe(message.content.map((part) => (part.type === of ? part.text : '')).join(''))
      }
    })

    it('is reported as deltas and as activity', async () => {
      const { deltas, activityCount } = await send(recordings.text)
      expect(deltas.length).toBeGreaterThan(1)
      expect(activityCount).toBeGreaterThan(0)
    })

    it('reports the arguments of its calls as they are written', async () => {
      const { written } = await send(recordings.calls)
      const parsed = Object.entries(written).map(([tool, text]) => [tool, JSON.parse(text) as unknown])
      expect(parsed).toEqual([
        ['look', { at: 'a' }],
        ['find', { n: [2] }],
      ])
      expect((await send(recordings.text)).written).toEqual({})
    })

    it('is complete at its end, even if the connection stays open', async () => {
      const { reply, error } = await send({ ...recordings.usage, ending: 'hangs' })
      expect(error).toBe(undefined)
      expect(reply?.usage).toMatchObject(expectedUsage)
    })

    it('has usage with cached tokens counted separately', async () => {
      expect((await send(recordings.usage)).reply?.usage).toMatchObject(expectedUsage)
    })

    it('has the stop reason `refused` after a refusal', async () => {
      expect((await send(recordings.refusal)).reply?.message.stop).toBe('refused')
    })

    it.each([
      ['closes', undefined],
      ['disconnects', 'disconnects'],
    ] as const)(
      'is rejected as broken when the connection %s too early, inside a tool call or outside',
      async (_name, ending) => {
        for (const [response, inCall] of [
          [recordings.cutText, false],
          [recordings.cutCall, true],
        ] as const) {
          const { error, reply } = await send({ ...response, ...(ending && { ending }) })
          expect(reply).toBe(undefined)
          expect(isStreamBroken(error)).toBe(true)
          expect(error).toMatchObject({ inCall })
        }
      },
    )

    it('fails with an error that the provider sends inside the stream', async () => {
      const { error, deltas } = await send(recordings.errorInside)
      expect(deltas.map((delta) => delta.text).join('')).toBe('half')
      expect(toFailure(error).kind).toBe('overloaded')
    })

    it('fails as aborted when the caller aborts while reading', async () => {
      const { error } = await send({ ...recordings.cutText, ending: 'hangs' }, { onDelta: (abort) => abort() })
      expect(toFailure(error).kind).toBe('aborted')
    })

    it('fails as aborted when the caller aborts before the call', async () => {
      const { error, reply } = await send(recordings.text, { isAborted: true })
      expect(reply).toBe(undefined)
      expect(toFailure(error).kind).toBe('aborted')
    })

    it.each(Object.entries(recordings.errors))(
      'with an error status fails with the kind %s',
      async (kind, response) => {
        expect(toFailure((await send(response)).error).kind).toBe(kind)
      },
    )
  })

  describe(`${harness.name}: a request`, () => {
    it.each(Object.entries(requests))(
      'is valid for the provider: %s',
      async (_name, { request, mustContain, mustNotContain }) => {
        const { body, path } = await exchange(request, recordings.text)
        expect(harness.findViolations(body)).toEqual([])
        // Some dialects have the model in the path.
        const texts = `${path}\n${joinTexts(body)}`
        for (const text of mustContain ?? []) expect(texts).toContain(text)
        for (const text of mustNotContain ?? []) expect(JSON.stringify(body)).not.toContain(text)
      },
    )

    it('keeps tools with equal schemas apart', async () => {
      const inputSchema = { type: 'object', properties: {} }
      const twins = ['first_of_two', 'second_of_two'].map((name) => ({ name, description: name, inputSchema }))
      const { body } = await exchange({ ...hello, tools: twins }, recordings.text)
      for (const { name } of twins) expect(JSON.stringify(body).split(`"name":"${name}"`)).toHaveLength(2)
    })

    it('sends back what the provider replied, unchanged and with seals', async () => {
      const replies = await Promise.all(
        [recordings.thinking, recordings.thoughtfulCall, recordings.calls].map((response) => send(response)),
      )
      const transcript = appendToolResults(replies.map(({ reply }) => reply?.message as AssistantMessage))
      for (const quirks of [{}, ...(harness.thinkingQuirks ? [harness.thinkingQuirks] : [])]) {
        const { body } = await exchange({ ...hello, transcript, reasoningEffort: 'high' }, recordings.text, { quirks })
        expect(harness.findViolations(body)).toEqual([])
        expect(JSON.stringify(body)).toContain('result of call_9')
        const seals = replies.flatMap(({ reply }) => listSeals(reply?.message as AssistantMessage))
        expect(harness.thinkingQuirks === undefined || seals.length > 0).toBe(true)
        // Without thinking enabled, thinking may be left out.
        const missing = quirks === harness.thinkingQuirks ? seals.filter((seal) => !joinTexts(body).includes(seal)) : []
        expect(missing).toEqual([])
      }
    })

    it('begins with the bytes of the previous request, and does not depend on caches', async () => {
      const transcript = [...hello.transcript]
      let before = (await send(recordings.text)).text
      const messages = appendToolResults([expected.calls, expected.text, expected.fragments])
      for (const [at, message] of messages.entries()) {
        if (at > 0) transcript.push(message)
        // Tool results of one batch are added together.
        if (at === 0 || message.role === 'assistant' || messages[at + 1]?.role === 'tool') continue
        const { text: current } = await exchange({ ...hello, transcript }, recordings.text)
        const fresh = await exchange(structuredClone({ ...hello, transcript }), recordings.text)
        expect(current).toBe(fresh.text)
        let samePrefix = 0
        while (before[samePrefix] === current[samePrefix] && samePrefix < before.length) samePrefix++
        // All but the closing brackets.
        expect(before.length - samePrefix).toBeLessThan(20)
        before = current
      }
    })
  })
}
