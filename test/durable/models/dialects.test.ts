import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '#agent/core/dialect.ts'
import { userText } from '#agent/core/message.ts'
import type { AiBinding } from '#agent/providers/workers-ai/workers-ai.ts'
import { createDialects } from '#durable/models/dialects.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'

const request: ModelRequest = { model: '@cf/x/y', system: '', transcript: [userText('hello')], tools: [] }
const endpoint = { id: '', baseUrl: '', key: '', headers: {} }

/** A stream as the AI binding returns it in this runtime: the body of a response. */
const streamOf = (text: string) => new Response(text).body as ReadableStream<Uint8Array>

const bound = (ai: AiBinding) => createDialects({ AI: ai } as unknown as Env)['workers-ai']

async function call(ai: AiBinding, signal = new AbortController().signal) {
  const heard: string[] = []
  const reply = await bound(ai)?.call(request, endpoint, {
    signal,
    onDelta: ({ text }) => heard.push(text),
    onActivity: () => {},
    sleep: () => Promise.resolve(),
  })
  return { content: reply?.message.content, heard }
}

describe('the dialect of the AI binding', () => {
  it('exists only with the binding', () => {
    expect(createDialects({} as Env)).not.toHaveProperty('workers-ai')
    expect(bound({ run: () => Promise.resolve({}) })).toBeDefined()
  })

  it('reads a stream of the runtime', async () => {
    const ai = { run: () => Promise.resolve(streamOf('data: {"response":"Hi"}\n\ndata: [DONE]\n\n')) }
    expect(await call(ai)).toEqual({ content: [{ type: 'text', text: 'Hi' }], heard: ['Hi'] })
  })

  it('cancels a stream that stalls', async () => {
    const controller = new AbortController()
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    const ai = { run: () => Promise.resolve(readable) }
    const calling = call(ai, controller.signal).catch((error: unknown) => error)
    await writer.write(new TextEncoder().encode('data: {"response":"half"}\n\n'))
    controller.abort()
    expect(await calling).toMatchObject({ name: 'AbortError' })
    await expect(writer.closed).rejects.toMatchObject({ name: 'AbortError' })
  })
})

describe('the demo model', () => {
  it('reports activity with every word, so that a slow answer does not time out', async () => {
    const signs: string[] = []
    await createDialects({} as Env).demo?.call(request, endpoint, {
      signal: new AbortController().signal,
      onDelta: ({ text }) => signs.push(text),
      onActivity: () => signs.push('pulse'),
      sleep: () => Promise.resolve(),
    })
    expect(signs.length).toBeGreaterThan(2)
    expect(signs.filter((_, at) => at % 2)).toEqual(Array(signs.length / 2).fill('pulse'))
  })
})

describe('an address that the tenant has named', () => {
  const names = ['openai-chat', 'openai-responses', 'anthropic', 'bedrock-converse'] as const
  const baseUrl = 'https://model.example.com/v1'

  const callAt = async (name: (typeof names)[number]) => {
    const guarded: string[] = []
    const guardedFetch: GuardedFetch = ({ url, headers }) => {
      guarded.push(`${url} ${new Headers(headers).get('x-own') ?? ''}`)
      return Promise.reject(new Error('it may not be called'))
    }
    const dialects = createDialects({} as Env, { id: 'acme', guardedFetch })
    const options = {
      signal: AbortSignal.timeout(5_000),
      onDelta: () => {},
      onActivity: () => {},
      sleep: async () => {},
    }
    const called = { id: '', baseUrl, key: 'k', headers: { 'x-own': '1' }, isTenantAddress: true } as const
    const failed = dialects[name]?.call(request, called, options).catch((error: unknown) => String(error))
    return { guarded, failed: await failed }
  }

  it.each(names)('is called through the guard, %s', async (name) => {
    const { guarded, failed } = await callAt(name)
    expect(guarded).toEqual([expect.stringMatching(/^https:\/\/model\.example\.com\/(v1\/)?\S+ 1$/)])
    expect(failed).toMatch(/error|may not/i)
  })
})
