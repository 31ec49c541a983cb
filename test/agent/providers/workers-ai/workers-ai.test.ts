import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '../../../../src/agent/model/dialect.ts'
import { type Message, userText } from '../../../../src/agent/model/message.ts'
import { type AiBinding, workersAi, renderInputs } from '../../../../src/agent/providers/workers-ai/workers-ai.ts'
import { toFailure } from '../support/conformance.ts'
import { sseResponse } from '../support/exchange.ts'
import { createFakeBinding, type BindingRun } from '../fakes/workers-ai.ts'
import { assistantCalls, toolResult, pixelPng, tools } from '../support/requests.ts'

const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: '@cf/meta/llama-3.3-70b-instruct-fp8-fast',
  system: 'Be kind.',
  transcript: [userText('hello')],
  tools,
  ...more,
})
const done = 'data: [DONE]\n\n'
const native = (...events: readonly object[]) => ({ body: `${sseResponse(...events).body as string}${done}` })

type Setting = { readonly quirks?: Quirks; readonly gateway?: string; readonly ask?: Partial<ModelRequest> }

async function call(binding: AiBinding, { quirks, gateway, ask }: Setting = {}, signal = new AbortController().signal) {
  const deltas: string[] = []
  const endpoint = { id: '', baseUrl: '', key: '', headers: {}, ...(quirks && { quirks }) }
  const reply = await workersAi(binding, gateway).call(request(ask), endpoint, {
    signal,
    onDelta: ({ text }) => deltas.push(text),
    onActivity: () => {},
    sleep: () => Promise.resolve(),
  })
  return { ...reply, deltas }
}
const answered = async (answer: Parameters<typeof createFakeBinding>[0], setting?: Setting) => {
  const runs: BindingRun[] = []
  return { ...(await call(createFakeBinding(answer, runs), setting)), run: runs[0] as BindingRun }
}
const hello = native({ response: 'Hello' })

describe('what the binding is asked', () => {
  it('is a stream of the model, by its whole name', async () => {
    const { run } = await answered(hello)
    expect(run.model).toBe('@cf/meta/llama-3.3-70b-instruct-fp8-fast')
    expect(run.inputs).toEqual({
      stream: true,
      max_tokens: 4_096,
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: 'function',
        function: { name, description, parameters: inputSchema },
      })),
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'hello' },
      ],
    })
  })

  it.each<readonly [string, Setting, object | undefined]>([
    ['no gateway', {}, undefined],
    ['the gateway of the deployment', { gateway: 'main' }, { id: 'main' }],
    ['no gateway without a name', { gateway: ' ' }, undefined],
    ['the gateway of a model before it', { gateway: 'main', quirks: { body: { gateway: 'own' } } }, { id: 'own' }],
    [
      'a gateway with options',
      { quirks: { body: { gateway: { id: 'own', skipCache: true } } } },
      { id: 'own', skipCache: true },
    ],
  ])('goes through %s', async (_name, setting, gateway) => {
    const { run } = await answered(hello, setting)
    expect(run.options.gateway).toEqual(gateway)
    expect(run.inputs).not.toHaveProperty('gateway')
  })

  it('names the conversation, so that its beginning is found again', async () => {
    const affinity = async (setting?: Setting) =>
      (await answered(hello, setting)).run.options.extraHeaders?.['x-session-affinity']
    const one = await affinity()
    expect(one).toMatch(/^talaria-\w+$/)
    expect(await affinity({ ask: { say: 'Go on.' } })).toBe(one)
    expect(await affinity({ ask: { transcript: [userText('hallo')] } })).not.toBe(one)
    expect(await affinity({ quirks: { cacheMarks: 'none' } })).toBe(undefined)
  })

  it.each<readonly [string, Partial<ModelRequest>, Quirks, object]>([
    ['a limit', { maxTokens: 9 }, {}, { max_tokens: 9 }],
    ['a limit by its other name', {}, { maxTokensField: 'max_completion_tokens' }, { max_completion_tokens: 4_096 }],
    ['an effort that is known', { reasoningEffort: 'xhigh' }, {}, { reasoning_effort: 'high' }],
    ['a temperature', { temperature: 0.3 }, {}, { temperature: 0.3 }],
    ['what a model wants besides', {}, { body: { seed: 1 } }, { seed: 1 }],
  ])('has %s', (_name, ask, quirks, expected) => {
    expect(renderInputs(request(ask), quirks)).toMatchObject(expected)
  })

  const cases: readonly (readonly [string, readonly Message[], object])[] = [
    [
      'calls have content, even when there is none',
      [userText('go'), assistantCalls('c1')],
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"c1"}' } }],
      },
    ],
    [
      'results name their tool and their call',
      [userText('go'), assistantCalls('c1'), toolResult('c1', 'a tree')],
      { role: 'tool', tool_call_id: 'c1', name: 'look', content: 'a tree' },
    ],
    [
      'images are parts',
      [{ role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: pixelPng }] }],
      { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${pixelPng}` } }] },
    ],
  ]
  it.each(cases)('has messages in which %s', (_name, transcript, expected) => {
    expect(renderInputs(request({ transcript }))['messages']).toContainEqual(expected)
  })
})

describe('an answer in the form of the older models', () => {
  it('is text in pieces, with usage at its end', async () => {
    const usage = { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 }
    const reply = await answered(native({ response: 'Hel', p: 'ab' }, { response: 'lo' }, { response: '', usage }))
    expect(reply.message).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Hello' }], stop: 'end' })
    expect(reply.deltas).toEqual(['Hel', 'lo'])
    expect(reply.usage).toMatchObject({ input: 20, output: 2 })
  })

  it('has whole calls, each with an id of its own', async () => {
    const { message } = await answered(
      native(
        { response: '', tool_calls: [{ name: 'look', arguments: { at: 'a' } }] },
        {
          tool_calls: [
            { name: 'find', arguments: '{"n":1}' },
            { id: 'x', type: 'function', function: { name: 'look', arguments: '{}' } },
          ],
        },
      ),
    )
    expect(message).toEqual({
      role: 'assistant',
      content: [
        { type: 'call', id: 'call_1', name: 'look', input: { at: 'a' } },
        { type: 'call', id: 'call_2', name: 'find', input: { n: 1 } },
        { type: 'call', id: 'x', name: 'look', input: {} },
      ],
      stop: 'tools',
    })
  })

  it.each([
    ['a number', 42, '42'],
    ['an object', { a: 1 }, '{"a":1}'],
  ])('is text even where the model wrote %s', async (_name, response, text) => {
    expect((await answered(native({ response }))).message.content).toEqual([{ type: 'text', text }])
  })

  it('that took all tokens there were is cut off', async () => {
    const usage = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 }
    const { message } = await answered(native({ response: 'half a', usage }), { ask: { maxTokens: 9 } })
    expect(message.stop).toBe('length')
  })

  it('without an end is dropped', async () => {
    const error = await answered(sseResponse({ response: 'Hel' })).catch((caught: unknown) => caught)
    expect(toFailure(error).kind).toBe('network')
  })

  it.each<readonly [string, object]>([
    ['of the older form', { response: 'Hello', usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } }],
    ['of the newer form', { choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] }],
  ])('may come in one piece %s', async (_name, object) => {
    const { message } = await answered({ object })
    expect(message).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Hello' }], stop: 'end' })
  })
})

describe('an error of the binding', () => {
  const thrown = (message: string, fields: object = {}): AiBinding => ({
    run: () => Promise.reject(Object.assign(new Error(message), { name: 'InferenceUpstreamError' }, fields)),
  })
  it.each<readonly [string, AiBinding, string]>([
    ['out of capacity', thrown('3040: Capacity temporarily exceeded, please try again.'), 'overloaded'],
    ['out of neurons', thrown('4006: you have used up your daily free allocation of 10,000 neurons'), 'quota'],
    ['out of neurons for today', thrown('AiError: AiError: 3036: Account limited'), 'quota'],
    ['no such model', thrown('5007: No such model @cf/x/y or task'), 'missing-model'],
    ['a number behind another', thrown('InferenceUpstreamError: 1234: 3006: Request is too large'), 'too-large'],
    ['a number of its own', thrown('It failed.', { code: 3040 }), 'overloaded'],
    ['words alone', thrown('Network connection lost.'), 'network'],
    ['a number that means nothing', thrown('9999: boom'), 'unknown'],
  ])('that says %s is of the right kind', async (_name, binding, kind) => {
    const error: unknown = await call(binding).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(Error)
    expect(toFailure(error).kind).toBe(kind)
  })

  it('keeps what was thrown', async () => {
    const error = await call(thrown('3040: Capacity temporarily exceeded')).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ error: { number: 3040 }, cause: { name: 'InferenceUpstreamError' } })
    expect(toFailure(error)).toMatchObject({ status: 503 })
  })
})

describe('a call that is given up', () => {
  const kindOfAborted = async (binding: AiBinding, abort: (controller: AbortController) => void) => {
    const controller = new AbortController()
    const calling = call(binding, {}, controller.signal).catch((caught: unknown) => caught)
    abort(controller)
    return toFailure(await calling).kind
  }

  it('before it began, and before it was answered, ends at once', async () => {
    const silent: AiBinding = { run: () => new Promise(() => undefined) }
    expect(await kindOfAborted(silent, (controller) => controller.abort())).toBe('aborted')
    expect(await kindOfAborted(silent, (controller) => void Promise.resolve().then(() => controller.abort()))).toBe(
      'aborted',
    )
  })

  it('leaves no stream open that comes too late', async () => {
    let isCancelled = false
    let answer: (stream: ReadableStream) => void = () => undefined
    const late: AiBinding = { run: () => new Promise((resolve) => (answer = resolve)) }
    expect(await kindOfAborted(late, (controller) => controller.abort())).toBe('aborted')
    await new Promise<void>((closed) => {
      answer(
        new ReadableStream({
          cancel() {
            isCancelled = true
            closed()
          },
        }),
      )
    })
    expect(isCancelled).toBe(true)
  })
})
