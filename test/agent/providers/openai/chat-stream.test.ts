import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StreamBroken, type Activity } from '../../../../src/agent/model/dialect.ts'
import { readChatStream } from '../../../../src/agent/providers/openai/chat-stream.ts'
import { ErrorInBody } from '../../../../src/agent/providers/shared/error-in-body.ts'
import { toFailure } from '../support/conformance.ts'
import { skipSleep } from '../support/chunked-response.ts'

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const call = (fields: object) => chunk({ tool_calls: [fields] })
const named = (index: number | undefined, id: string | undefined, json: string, name?: string) =>
  call({
    ...(index !== undefined && { index }),
    ...(id !== undefined && { id }),
    function: { ...(name !== undefined && { name }), arguments: json },
  })
const done = 'data: [DONE]\n\n'
const end = (reason: string) => chunk({}, reason) + done

const encoder = new TextEncoder()

/** `breaks`: what the connection ends with instead of an end. */
type Cut = { readonly size?: number; readonly breaks?: Error }
const terminated = new TypeError('terminated')

/** The answer as a stream of these bytes, cut into pieces of `size`. */
function answer(text: string, { size = 1_000_000, breaks }: Cut = {}) {
  const bytes = encoder.encode(text)
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size))
      if (breaks) controller.error(breaks)
      else controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

async function read(text: string, options?: Cut) {
  const deltas: string[] = []
  const signs: (Activity | undefined)[] = []
  const { message, usage } = await readChatStream(answer(text, options), {
    onDelta: (delta) => deltas.push(`${delta.of}: ${delta.text}`),
    onActivity: (sign) => signs.push(sign),
    sleep: skipSleep,
  })
  return { message, usage, deltas, signs }
}
const callsOf = async (text: string) =>
  (await read(text)).message.content.flatMap((part) =>
    part.type === 'call' ? [`${part.id} ${part.name} ${part.raw ?? JSON.stringify(part.input)}`] : [],
  )

describe('text', () => {
  const text =
    chunk({ role: 'assistant', content: '' }) +
    chunk({ content: 'Grüße, ' }) +
    chunk({ content: '世界 👋' }) +
    end('stop')

  it('is put together and deltas piece by piece', async () => {
    const { message, deltas } = await read(text)
    expect(message).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Grüße, 世界 👋' }], stop: 'end' })
    expect(deltas).toEqual(['text: Grüße, ', 'text: 世界 👋'])
  })

  it('is the same wherever the bytes are cut', async () => {
    const whole = await read(text)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 40 }), async (size) => {
        const { message, deltas } = await read(text, { size })
        expect({ message, deltas }).toEqual({ message: whole.message, deltas: whole.deltas })
      }),
    )
  })

  it.each([
    ['a word', chunk({ content: 'a' }), 'answer'],
    ['a thought', chunk({ reasoning_content: 'a' }), 'answer'],
    ['a refusal', chunk({ refusal: 'a' }), 'answer'],
    ['a piece of a call', call({ index: 0, id: 'c', function: { name: 'f', arguments: '' } }), 'answer'],
    ['the reason for the end', chunk({}, 'stop'), 'answer'],
    ['usage', 'data: {"choices":[],"usage":{"prompt_tokens":1}}\n\n', 'answer'],
    ['a role', chunk({ role: 'assistant', content: '' }), 'keep-alive'],
    ['a chunk without a choice', 'data: {"choices":[]}\n\n', 'keep-alive'],
    ['a comment', ': processing\n\n', 'keep-alive'],
  ])('%s is a sign of life of its kind', async (_name, frame, sign) => {
    expect((await read(frame + end('stop'))).signs).toEqual([sign, 'answer'])
  })

  it('bytes that are no event yet are no sign of life', async () => {
    expect((await read(text, { size: 1 })).signs).toEqual((await read(text)).signs)
  })

  it('ends without a reason when the stream says that it is done', async () => {
    expect((await read(chunk({ content: 'ok' }) + done)).message.stop).toBe('end')
  })

  it('may come in one piece instead of a stream', async () => {
    const body = {
      choices: [{ message: { content: 'whole' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 1 },
    }
    const { message, usage } = await readChatStream(Response.json(body), {
      onDelta: () => {},
      onActivity: () => {},
      sleep: skipSleep,
    })
    expect(message.content).toEqual([{ type: 'text', text: 'whole' }])
    expect(usage).toMatchObject({ input: 3, output: 1 })
  })
})

describe('thinking', () => {
  it.each(['reasoning', 'reasoning_content'])('is kept apart from text, under the name %s', async (name) => {
    const { message, deltas } = await read(
      chunk({ [name]: 'hm ' }) + chunk({ [name]: 'yes' }) + chunk({ content: 'Yes.' }) + end('stop'),
    )
    expect(message.content).toEqual([
      { type: 'thinking', text: 'hm yes' },
      { type: 'text', text: 'Yes.' },
    ])
    expect(deltas).toEqual(['thinking: hm ', 'thinking: yes', 'text: Yes.'])
  })
})

describe('content in parts', () => {
  const thought = (words: string) => ({ type: 'thinking', thinking: [{ type: 'text', text: words }] })

  it('is text and thinking, each kept as such', async () => {
    const { message, deltas, signs } = await read(
      chunk({ content: [thought('hm ')] }) +
        chunk({ content: [thought('yes'), { type: 'text', text: 'Hel' }] }) +
        chunk({ content: 'lo' }) +
        chunk({ content: [{ type: 'reference', reference_ids: [1] }, { type: 'thinking', thinking: '.' }, null] }) +
        chunk({ content: [] }) +
        end('stop'),
    )
    expect(message.content).toEqual([
      { type: 'thinking', text: 'hm yes.' },
      { type: 'text', text: 'Hello' },
    ])
    expect(deltas).toEqual(['thinking: hm ', 'thinking: yes', 'text: Hel', 'text: lo', 'thinking: .'])
    expect(signs.slice(0, 5)).toEqual(['answer', 'answer', 'answer', 'answer', 'keep-alive'])
  })

  it('that is JSON and not its text is written down', async () => {
    const { message } = await read(chunk({ content: { at: 1 } }) + chunk({ content: 2 }) + end('stop'))
    expect(message.content).toEqual([{ type: 'text', text: '{"at":1}2' }])
  })
})

describe('tool calls', () => {
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    [
      'come in fragments by index, mixed',
      named(0, 'a', '', 'look') +
        named(1, 'b', '{"n"', 'find') +
        named(0, undefined, '{"at":1}') +
        named(1, undefined, ':2}'),
      ['a look {"at":1}', 'b find {"n":2}'],
    ],
    [
      'come without an index: what has no id goes on with the last',
      named(undefined, 'a', '{"at"', 'look') + named(undefined, undefined, ':1}') + named(undefined, 'b', '{}', 'find'),
      ['a look {"at":1}', 'b find {}'],
    ],
    [
      'come without an index but with their id in every fragment',
      named(undefined, 'a', '{"at"', 'look') + named(undefined, 'a', ':1}') + named(undefined, 'b', '{}', 'find'),
      ['a look {"at":1}', 'b find {}'],
    ],
    [
      'come all under index 0, told apart by their ids',
      named(0, 'a', '{"at":1}', 'look') + named(0, 'b', '{"at":2}', 'look'),
      ['a look {"at":1}', 'b look {"at":2}'],
    ],
    [
      'may repeat their name in every fragment',
      named(0, 'a', '{"at"', 'look') + named(0, 'a', ':1}', 'look'),
      ['a look {"at":1}'],
    ],
    [
      'may share their id, told apart by their indexes',
      named(0, 'a', '{"at":1}', 'read_file') + named(1, 'a', '{"at":2}', 'terminal'),
      ['a read_file {"at":1}', 'a terminal {"at":2}'],
    ],
    [
      'may share their id and come in fragments of their indexes',
      named(0, 'a', '{"at"', 'look') +
        named(1, 'a', '{"at"', 'find') +
        named(0, 'a', ':1}') +
        named(1, 'a', ':2}') +
        named(2, 'b', '{}', 'end'),
      ['a look {"at":1}', 'a find {"at":2}', 'b end {}'],
    ],
    [
      'come whole without an index and without an id',
      named(undefined, undefined, '{"at":1}', 'look') +
        named(undefined, undefined, '{"at":2}', 'look') +
        named(undefined, undefined, '{}', 'find'),
      [' look {"at":1}', ' look {"at":2}', ' find {}'],
    ],
    [
      'come whole without an id, all under index 0',
      named(0, undefined, '{"at":1}', 'look') + named(0, undefined, '{"at":2}', 'find'),
      [' look {"at":1}', ' find {"at":2}'],
    ],
    [
      'may have their arguments as an object',
      call({ index: 0, id: 'a', function: { name: 'look', arguments: { at: 1 } } }) +
        call({ function: { name: 'find', arguments: { at: 2 } } }) +
        call({ function: { name: 'find', arguments: {} } }),
      ['a look {"at":1}', ' find {"at":2}', ' find {}'],
    ],
    [
      'may repeat their name behind what is whole only in part',
      named(undefined, undefined, '{"at":{}', 'look') + named(undefined, undefined, ',"n":1}', 'look'),
      [' look {"at":{},"n":1}'],
    ],
    [
      'may say their name once more at their end',
      named(0, 'a', '{"at":1}', 'look') + named(0, undefined, '', 'look'),
      ['a look {"at":1}'],
    ],
    [
      'may count their fragments as if they were calls',
      named(0, 'a', '{"at"', 'look') + named(1, 'a', ':1}'),
      ['a look {"at":1}'],
    ],
    ['may begin at another index', named(1, 'a', '{}', 'look'), ['a look {}']],
    ['may have no arguments', named(0, 'a', '', 'look'), ['a look {}']],
    ['keep what is no JSON as it came', named(0, 'a', '{"at": "unfin', 'look'), ['a look {"at": "unfin']],
  ]
  it.each(cases)('%s', async (_name, text, expected) => {
    expect(await callsOf(text + end('tool_calls'))).toEqual(expected)
  })

  it('are what the answer stops for, whatever the reason says', async () => {
    expect((await read(named(0, 'a', '{}', 'look') + end('stop'))).message.stop).toBe('tools')
  })
})

describe('the end', () => {
  it.each([
    ['length', 'length'],
    ['model_length', 'length'],
    ['max_tokens', 'length'],
    ['MAX_TOKENS', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['content_filter', 'refused'],
    ['sensitive', 'refused'],
    ['stop', 'end'],
  ])('for the reason %s is %s', async (reason, stop) => {
    expect((await read(chunk({ content: 'x' }) + end(reason))).message.stop).toBe(stop)
  })

  it('with a refusal has its words as text', async () => {
    const { message } = await read(chunk({ refusal: 'I will ' }) + chunk({ refusal: 'not.' }) + end('stop'))
    expect(message).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'I will not.' }], stop: 'refused' })
  })

  it('brings usage, with what was read from the cache counted apart', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 5 },
    }
    const text = chunk({ content: 'x' }, 'stop') + `data: ${JSON.stringify({ choices: [], usage })}\n\n${done}`
    const counted = { input: 70, output: 20, cachedRead: 30, cachedWrite: 0, reasoning: 5 }
    expect((await read(text)).usage).toEqual({ ...counted, costUsd: 0, costStatus: 'unknown' })
    const priced = text.replace('"prompt_tokens":100', '"cost":0.5,"prompt_tokens":100')
    expect((await read(priced)).usage).toEqual({ ...counted, costUsd: 0.5, costStatus: 'actual' })
  })

  const details = (reasoning_tokens: number) => ({ completion_tokens_details: { reasoning_tokens } })
  it.each([
    [
      'with reasoning beside what was written',
      { prompt_tokens: 37, completion_tokens: 530, total_tokens: 800, ...details(233) },
      { input: 37, output: 763, reasoning: 233 },
    ],
    [
      'with reasoning in what was written',
      { prompt_tokens: 37, completion_tokens: 530, total_tokens: 567, ...details(233) },
      { input: 37, output: 530, reasoning: 233 },
    ],
    [
      'without a total',
      { prompt_tokens: 37, completion_tokens: 530, ...details(233) },
      { input: 37, output: 530, reasoning: 233 },
    ],
    [
      'with what was cached beside the rest',
      { prompt_tokens: 100, completion_tokens: 5, cached_tokens: 60 },
      { input: 40, output: 5, cachedRead: 60 },
    ],
  ])('brings usage %s', async (_name, usage, expected) => {
    const text = chunk({ content: 'x' }, 'stop') + `data: ${JSON.stringify({ choices: [], usage })}\n\n${done}`
    expect((await read(text)).usage).toMatchObject(expected)
  })

  it('that does not come is a dropped connection, in or out of a call', async () => {
    const dropped = async (text: string, options?: Cut) => {
      const error: unknown = await read(text, options).catch((caught: unknown) => caught)
      return error instanceof StreamBroken ? { inCall: error.inCall } : error
    }
    expect(await dropped('')).toEqual({ inCall: false })
    expect(await dropped(done)).toEqual({ inCall: false })
    expect(await dropped(chunk({ content: 'half' }))).toEqual({ inCall: false })
    expect(await dropped(named(0, 'a', '{"at', 'look'))).toEqual({ inCall: true })
    expect(await dropped(chunk({ content: 'half' }), { breaks: terminated })).toEqual({ inCall: false })
    expect(await dropped('data: <html>\n\n')).toEqual({ inCall: false })
  })

  it.each([
    ['breaks', terminated],
    ['is given up', Object.assign(new Error('given up'), { name: 'AbortError' })],
  ])('stands when the connection %s behind it', async (_name, breaks) => {
    // In pieces: what stands in front of a broken end would be lost with it.
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => controller.enqueue(encoder.encode(chunk({ content: 'whole' }, 'stop'))),
        pull: (controller) => controller.error(breaks),
      },
      { highWaterMark: 0 },
    )
    const { message } = await readChatStream(new Response(body), {
      onDelta: () => {},
      onActivity: () => {},
      sleep: skipSleep,
    })
    expect(message).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'whole' }], stop: 'end' })
  })

  it.each(['insufficient_system_resource', 'error', 'network_error'])(
    'for the reason %s is that of a connection: what came is no answer yet',
    async (reason) => {
      const error: unknown = await read(chunk({ content: 'half' }) + end(reason)).catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(StreamBroken)
      expect(error).toMatchObject({ inCall: false })
      expect(toFailure(error).kind).toBe('network')
      await expect(read(named(0, 'a', '{"at', 'look') + end(reason))).rejects.toMatchObject({ inCall: true })
    },
  )

  it('that is an error of the choice is that error', async () => {
    const choice = { index: 0, delta: {}, finish_reason: 'error', error: { code: 502, message: 'Upstream is gone' } }
    const text = chunk({ content: 'x' }) + `data: ${JSON.stringify({ choices: [choice] })}\n\n${done}`
    await expect(read(text)).rejects.toMatchObject({ name: 'ErrorInBody', status: 502 })
  })

  it('that is an error inside the answer is that error', async () => {
    const text =
      chunk({ content: 'x' }) + `data: ${JSON.stringify({ error: { message: 'Overloaded', code: 529 } })}\n\n`
    await expect(read(text)).rejects.toThrow(new ErrorInBody({ message: 'Overloaded', code: 529 }))
    await expect(read(text)).rejects.toMatchObject({ status: 529 })
  })
})
