/**
 * What every dialect does alike, as one suite. A dialect brings how it is called (`overHttp` for those that
 * speak HTTP), a fake that says what the provider would refuse, and recorded answers to the situations below;
 * what is asked and what must come of it is the same for all.
 */

import { describe, expect, it } from 'vitest'
import type { Delta, ModelRequest, Quirks, DialectReply } from '../../../../src/agent/model/dialect.ts'
import { StreamBroken } from '../../../../src/agent/model/dialect.ts'
import type { FailureKind } from '../../../../src/agent/model/failure.ts'
import type { AssistantMessage } from '../../../../src/agent/model/message.ts'
import { classifyError } from '../../../../src/agent/providers/errors/classify-error.ts'
import { requests, appendToolResults } from './requests.ts'

/** What the provider sends back. */
export type RecordedResponse = {
  readonly body: string | Uint8Array
  /** 200 when absent. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** What follows the last byte: the end of the answer (when absent), a broken connection, or nothing at all. */
  readonly ending?: 'breaks' | 'hangs'
}

export type Exchange = {
  /** The body that was sent, as the provider reads it. */
  readonly body: unknown
  /** The same as text, where it is sent as text. */
  readonly text: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly deltas: readonly Delta[]
  readonly pulses: number
  readonly reply?: DialectReply
  readonly error?: unknown
}

export type ExchangeOptions = {
  readonly quirks?: Quirks
  /** Called with whatever is heard; may abort. */
  readonly onDelta?: (abort: () => void) => void
  /** Nobody waits for it any more when it is asked. */
  readonly isAborted?: boolean
}

export type DialectHarness = {
  readonly name: string
  readonly exchange: (request: ModelRequest, answer: RecordedResponse, asking?: ExchangeOptions) => Promise<Exchange>
  /** What the provider would refuse, in words; empty when it takes the body. */
  readonly findViolations: (body: unknown) => readonly string[]
  readonly responses: RecordedResponses
  /** Quirks under which the dialect thinks, when the default does not. */
  readonly thinkingQuirks?: Quirks
}

/** Recorded answers, by situation. What must be made of each stands in `expected`. */
export type RecordedResponses = {
  readonly text: RecordedResponse
  /** Thinking, sealed where the dialect seals it. */
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
  /** Breaks off in the text "half". */
  readonly cutText: RecordedResponse
  readonly cutCall: RecordedResponse
  /** "half", then an error of the overloaded kind. */
  readonly errorInside: RecordedResponse
  readonly errors: Readonly<Partial<Record<FailureKind, RecordedResponse>>>
}

const text = (words: string) => ({ type: 'text', text: words }) as const
const call = (id: string, name: string, input: object) => ({ type: 'call', id, name, input }) as const
const assistant = (stop: AssistantMessage['stop'], ...content: AssistantMessage['content']): AssistantMessage => ({
  role: 'assistant',
  content,
  stop,
})

export const expected = {
  text: assistant('end', text('Grüße, 世界 👋')),
  thinking: assistant('end', { type: 'thinking', text: 'hm yes' }, text('Yes.')),
  calls: assistant(
    'tools',
    text('Let me look.'),
    call('call_1', 'look', { at: 'a' }),
    call('call_2', 'find', { n: [2] }),
  ),
  thoughtfulCall: assistant('tools', { type: 'thinking', text: 'I must look.' }, call('call_9', 'look', { at: 'z' })),
  fragments: assistant('tools', call('call_1', 'look', { at: 'häuser "x"', deep: { n: [1, 2] } })),
  noArguments: assistant('tools', call('call_1', 'look', {})),
  length: assistant('length', text('half a')),
  empty: assistant('end'),
} as const

/** The arguments of `fragments` as a model writes them. */
export const argumentFragments = ['{"at":"hä', 'user \\"x', '\\"","de', 'ep":{"n":[1', ',2]}}'] as const

/** Input apart from what was read from the cache. */
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
    messages: 3,
    reasoning: true,
    aggregator: false,
    stalled: false,
    now: 0,
  })

/** Every text in a body, however deep. */
const joinTexts = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return ''
  return Object.values(value).map(joinTexts).join('\n')
}

/** Every text of what is sealed in an answer. */
const listSeals = ({ content }: AssistantMessage): readonly string[] =>
  content.flatMap((part) => (part.type !== 'text' && part.sealed ? joinTexts(part.sealed.data).split('\n') : []))

const hello: ModelRequest = requests['a greeting'].request

export function describeConformance(wire: DialectHarness): void {
  const { responses: answers, exchange } = wire
  const ask = (answer: RecordedResponse, asking?: ExchangeOptions) => exchange(hello, answer, asking)

  describe(`${wire.name}: an answer`, () => {
    const situations = Object.keys(expected) as (keyof typeof expected)[]
    it.each(situations)('is read: %s', async (situation) => {
      const { reply, error, deltas: heard } = await ask(answers[situation])
      expect(error).toBe(undefined)
      const wanted = expected[situation]
      expect(removeSeals(reply?.message as AssistantMessage)).toEqual(wanted)
      for (const of of ['text', 'thinking'] as const) {
        const told = heard.filter((delta) => delta.of === of).map((delta) => delta.text)
        expect(told.join('')).toBe(wanted.content.map((part) => (part.type === of ? part.text : '')).join(''))
      }
    })

    it('is heard piece by piece, and is a sign of life', async () => {
      const { deltas: heard, pulses } = await ask(answers.text)
      expect(heard.length).toBeGreaterThan(1)
      expect(pulses).toBeGreaterThan(0)
    })

    it('is whole at its end, whether the connection closes or not', async () => {
      const { reply, error } = await ask({ ...answers.usage, ending: 'hangs' })
      expect(error).toBe(undefined)
      expect(reply?.usage).toMatchObject(expectedUsage)
    })

    it('brings usage, with what was read from the cache counted apart', async () => {
      expect((await ask(answers.usage)).reply?.usage).toMatchObject(expectedUsage)
    })

    it('that is a refusal is refused', async () => {
      expect((await ask(answers.refusal)).reply?.message.stop).toBe('refused')
    })

    it.each([
      ['ends', undefined],
      ['breaks', 'breaks'],
    ] as const)('that %s before its end is dropped, in or out of a call', async (_name, after) => {
      for (const [answer, inCall] of [
        [answers.cutText, false],
        [answers.cutCall, true],
      ] as const) {
        const { error, reply } = await ask({ ...answer, ...(after && { ending: after }) })
        expect(reply).toBe(undefined)
        expect(error).toBeInstanceOf(StreamBroken)
        expect(error).toMatchObject({ inCall })
      }
    })

    it('with an error in its middle is that error', async () => {
      const { error, deltas: heard } = await ask(answers.errorInside)
      expect(heard.map((delta) => delta.text).join('')).toBe('half')
      expect(toFailure(error).kind).toBe('overloaded')
    })

    it('that is given up is aborted', async () => {
      const { error } = await ask({ ...answers.cutText, ending: 'hangs' }, { onDelta: (abort) => abort() })
      expect(toFailure(error).kind).toBe('aborted')
    })

    it('that nobody waits for any more is aborted before it begins', async () => {
      const { error, reply } = await ask(answers.text, { isAborted: true })
      expect(reply).toBe(undefined)
      expect(toFailure(error).kind).toBe('aborted')
    })

    it.each(Object.entries(answers.errors))('with a status is an error of the kind %s', async (kind, answer) => {
      expect(toFailure((await ask(answer)).error).kind).toBe(kind)
    })
  })

  describe(`${wire.name}: a request`, () => {
    it.each(Object.entries(requests))(
      'is what the provider takes: %s',
      async (_name, { request, mustContain: has, mustNotContain: lacks }) => {
        const { body, path } = await exchange(request, answers.text)
        expect(wire.findViolations(body)).toEqual([])
        // Some name the model in the address.
        const texts = `${path}\n${joinTexts(body)}`
        for (const wanted of has ?? []) expect(texts).toContain(wanted)
        for (const unwanted of lacks ?? []) expect(JSON.stringify(body)).not.toContain(unwanted)
      },
    )

    it('knows tools apart that have the same schema', async () => {
      const inputSchema = { type: 'object', properties: {} }
      const alike = ['first_of_two', 'second_of_two'].map((name) => ({ name, description: name, inputSchema }))
      const { body } = await exchange({ ...hello, tools: alike }, answers.text)
      for (const { name } of alike) expect(JSON.stringify(body).split(`"name":"${name}"`)).toHaveLength(2)
    })

    it('takes back what the provider said, word for word, seals included', async () => {
      const replies = await Promise.all(
        [answers.thinking, answers.thoughtfulCall, answers.calls].map((answer) => ask(answer)),
      )
      const transcript = appendToolResults(replies.map(({ reply }) => reply?.message as AssistantMessage))
      for (const quirks of [{}, ...(wire.thinkingQuirks ? [wire.thinkingQuirks] : [])]) {
        const { body } = await exchange({ ...hello, transcript, reasoningEffort: 'high' }, answers.text, { quirks })
        expect(wire.findViolations(body)).toEqual([])
        expect(JSON.stringify(body)).toContain('result of call_9')
        const seals = replies.flatMap(({ reply }) => listSeals(reply?.message as AssistantMessage))
        expect(wire.thinkingQuirks === undefined || seals.length > 0).toBe(true)
        // Who was not asked to think need not get its thinking back.
        const missing = quirks === wire.thinkingQuirks ? seals.filter((seal) => !joinTexts(body).includes(seal)) : []
        expect(missing).toEqual([])
      }
    })

    it('begins with the request before, byte for byte, and is the same made anew', async () => {
      const grown = [...hello.transcript]
      let before = (await ask(answers.text)).text
      const whole = appendToolResults([expected.calls, expected.text, expected.fragments])
      for (const [at, more] of whole.entries()) {
        if (at > 0) grown.push(more)
        // Results of a batch join together.
        if (at === 0 || more.role === 'assistant' || whole[at + 1]?.role === 'tool') continue
        const { text: now } = await exchange({ ...hello, transcript: grown }, answers.text)
        const anew = await exchange(structuredClone({ ...hello, transcript: grown }), answers.text)
        expect(now).toBe(anew.text)
        let same = 0
        while (before[same] === now[same] && same < before.length) same++
        // All but the brackets that close it.
        expect(before.length - same).toBeLessThan(20)
        before = now
      }
    })
  })
}
