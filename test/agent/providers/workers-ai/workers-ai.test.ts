import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { type Message, userText } from '#agent/core/message.ts'
import { type AiBinding, renderInputs } from '#agent/providers/workers-ai/workers-ai.ts'
import { toFailure } from '../support/conformance.ts'
import { assistantCalls, pixelPng, toolResult, tools } from '../support/requests.ts'
import {
  type BindingOptions,
  callBinding,
  createWorkersAiRequest,
  helloResponse,
  readRecorded,
} from '../support/workers-ai-calls.ts'

describe('a request to the binding', () => {
  it('names the model and requests a stream', async () => {
    const { run } = await readRecorded(helloResponse)
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

  it.each<readonly [string, BindingOptions, object | undefined]>([
    ['no gateway', {}, undefined],
    ['the default gateway', { gateway: 'main' }, { id: 'main' }],
    ['no gateway with a blank name', { gateway: ' ' }, undefined],
    [
      'the gateway of the quirks instead of the default',
      { gateway: 'main', quirks: { body: { gateway: 'own' } } },
      { id: 'own' },
    ],
    [
      'a gateway with options',
      { quirks: { body: { gateway: { id: 'own', skipCache: true } } } },
      { id: 'own', skipCache: true },
    ],
  ])('goes through %s', async (_name, options, gateway) => {
    const { run } = await readRecorded(helloResponse, options)
    expect(run.options.gateway).toEqual(gateway)
    expect(run.inputs).not.toHaveProperty('gateway')
  })

  it('has a session affinity per conversation', async () => {
    const affinity = async (options?: BindingOptions) =>
      (await readRecorded(helloResponse, options)).run.options.extraHeaders?.['x-session-affinity']
    const one = await affinity()
    expect(one).toMatch(/^talaria-\w+$/)
    expect(await affinity({ request: { instruction: 'Go on.' } })).toBe(one)
    expect(await affinity({ request: { transcript: [userText('hallo')] } })).not.toBe(one)
    expect(await affinity({ quirks: { cacheMarks: 'none' } })).toBe(undefined)
  })

  it.each<readonly [string, Partial<ModelRequest>, Quirks, object]>([
    ['a token limit', { maxTokens: 9 }, {}, { max_tokens: 9 }],
    [
      'a token limit in another field',
      {},
      { maxTokensField: 'max_completion_tokens' },
      { max_completion_tokens: 4_096 },
    ],
    ['a clamped effort', { reasoningEffort: 'xhigh' }, {}, { reasoning_effort: 'high' }],
    ['a temperature', { temperature: 0.3 }, {}, { temperature: 0.3 }],
    ['the body fields of the quirks', {}, { body: { seed: 1 } }, { seed: 1 }],
  ])('has %s', (_name, fields, quirks, expected) => {
    expect(renderInputs(createWorkersAiRequest(fields), quirks)).toMatchObject(expected)
  })

  const cases: readonly (readonly [string, readonly Message[], object])[] = [
    [
      'an assistant message without text has empty content',
      [userText('go'), assistantCalls('c1')],
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"c1"}' } }],
      },
    ],
    [
      'a result has the name of its tool and the id of its call',
      [userText('go'), assistantCalls('c1'), toolResult('c1', 'a tree')],
      { role: 'tool', tool_call_id: 'c1', name: 'look', content: 'a tree' },
    ],
    [
      'an image is a part',
      [{ role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: pixelPng }] }],
      { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${pixelPng}` } }] },
    ],
  ]
  it.each(cases)('has messages in which %s', (_name, transcript, expected) => {
    expect(renderInputs(createWorkersAiRequest({ transcript }))['messages']).toContainEqual(expected)
  })
})

describe('an aborted call', () => {
  const kindOfAborted = async (binding: AiBinding, abort: (controller: AbortController) => void) => {
    const controller = new AbortController()
    const calling = callBinding(binding, {}, controller.signal).catch((caught: unknown) => caught)
    abort(controller)
    return toFailure(await calling).kind
  }

  it('fails at once, before the call and while waiting', async () => {
    const silentBinding: AiBinding = { run: () => new Promise(() => undefined) }
    expect(await kindOfAborted(silentBinding, (controller) => controller.abort())).toBe('aborted')
    expect(
      await kindOfAborted(silentBinding, (controller) => void Promise.resolve().then(() => controller.abort())),
    ).toBe('aborted')
  })

  it('cancels a stream that arrives later', async () => {
    let isCancelled = false
    let resolveRun: (stream: ReadableStream) => void = () => undefined
    const lateBinding: AiBinding = { run: () => new Promise((resolve) => (resolveRun = resolve)) }
    expect(await kindOfAborted(lateBinding, (controller) => controller.abort())).toBe('aborted')
    await new Promise<void>((closed) => {
      resolveRun(
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
