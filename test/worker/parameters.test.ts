/** Tests which parameters of a request reach the model, and which are refused. */

import { beforeAll, describe, expect, it } from 'vitest'
import type { unsupportedFields } from '#worker/input/unsupported-fields.ts'
import { fails, model, says } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newSession } from './client.ts'

beforeAll(applyMigrations)

const messages = [{ role: 'user', content: 'hello' }]

async function sent(path: string, body: object) {
  const scripted = model([says('ok')])
  const { status } = await call('POST', path, { body: { ...body, model: scripted.id } })
  return { status, request: scripted.requests[0] ?? {} }
}

describe('parameters of chat completions', () => {
  it('reach the model', async () => {
    const parameters = {
      temperature: 0.3,
      top_p: 0.9,
      stop: ['END'],
      seed: 7,
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      logit_bias: { 50256: -100 },
      verbosity: 'low',
      service_tier: 'flex',
      max_completion_tokens: 500,
      reasoning_effort: 'low',
    }
    const { status, request } = await sent('/v1/chat/completions', { messages, ...parameters, safety_identifier: 'u1' })
    expect(status).toBe(200)
    expect(request).toMatchObject({ ...parameters, user: 'u1' })
  })

  it.each<readonly [object, object]>([
    [{ stop: 'END' }, { stop: ['END'] }],
    [{ user: 'u2' }, { user: 'u2' }],
    [{ max_tokens: 200 }, { max_completion_tokens: 200 }],
    [{ think: false }, { reasoning_effort: 'none' }],
    [{ enable_thinking: false }, { reasoning_effort: 'none' }],
    [{ thinking: { type: 'disabled' } }, { reasoning_effort: 'none' }],
    [{ chat_template_kwargs: { enable_thinking: false } }, { reasoning_effort: 'none' }],
    [{ reasoning: { effort: 'high' } }, { reasoning_effort: 'high' }],
  ])('%j becomes %j', async (given, expected) => {
    expect((await sent('/v1/chat/completions', { messages, ...given })).request).toMatchObject(expected)
  })

  it('are left out, and the run names it, when the provider refuses them', async () => {
    const scripted = model([fails(400, "Unsupported parameter: 'logit_bias'"), says('ok')])
    const body = { messages, model: scripted.id, logit_bias: { 1: 1 }, temperature: 1 }
    const answer = await call('POST', '/v1/chat/completions', { body })
    expect(answer.status).toBe(200)
    expect(scripted.requests.map((request) => ['logit_bias' in request, 'temperature' in request])).toEqual([
      [true, true],
      [false, false],
    ])
    const run = await call<{ notes: readonly { did: string }[] }>(
      'GET',
      `/v1/runs/${answer.headers.get('x-talaria-run-id')}`,
    )
    expect(run.body.notes.map(({ did }) => did)).toContain('leave out parameters')
  })

  it.each<readonly [object, string]>([
    [{ top_p: 2 }, 'top_p'],
    [{ seed: 'x' }, 'seed'],
    [{ presence_penalty: 3 }, 'presence_penalty'],
    [{ logit_bias: { 1: 200 } }, 'logit_bias.1'],
    [{ verbosity: 'loud' }, 'verbosity'],
  ])('out of their range are refused: %j', async (given, param) => {
    const { status, body } = await call<ErrorBody>('POST', '/v1/chat/completions', { body: { messages, ...given } })
    expect([status, body.error.param]).toEqual([400, param])
  })
})

it('parameters of responses reach the model', async () => {
  const body = { input: 'hello', temperature: 0.3, top_p: 0.9, text: { verbosity: 'low' }, safety_identifier: 'u1' }
  const { status, request } = await sent('/v1/responses', { ...body, max_output_tokens: 300 })
  expect(status).toBe(200)
  expect(request).toMatchObject({
    temperature: 0.3,
    top_p: 0.9,
    verbosity: 'low',
    user: 'u1',
    max_completion_tokens: 300,
  })
})

it("parameters of a session's chat reach the model", async () => {
  const { id } = await newSession()
  const { status, request } = await sent(`/api/sessions/${id}/chat`, { input: 'hello', top_p: 0.5, seed: 3 })
  expect(status).toBe(200)
  expect(request).toMatchObject({ top_p: 0.5, seed: 3 })
})

/** A value of every field that nothing can honour, and values that change nothing. */
const values: Readonly<Record<keyof typeof unsupportedFields, readonly [refused: unknown, ...defaults: unknown[]]>> = {
  n: [2, 1, null],
  best_of: [3, 1],
  logprobs: [true, false, null],
  top_logprobs: [5, 0, null],
  include: [['message.output_text.logprobs'], ['reasoning.encrypted_content'], null],
  modalities: [['text', 'audio'], ['text'], [], null],
  audio: [{ voice: 'alloy', format: 'wav' }, null],
  prediction: [{ type: 'content', content: 'x' }, null],
  moderation: [{ model: 'm' }, null],
  suffix: ['x', ''],
  echo: [true, false],
  function_call: [{ name: 'look' }, 'auto', 'none'],
}
const cases = Object.entries(values).map(([name, [refused, ...defaults]]) => ({ name, refused, defaults }))

describe.each(cases)('$name', ({ name, refused, defaults }) => {
  it('is refused by its name', async () => {
    const { status, body } = await call<ErrorBody>('POST', '/v1/chat/completions', {
      body: { messages, model: model([]).id, [name]: refused },
    })
    expect([status, body.error.code, body.error.param]).toEqual([400, 'unsupported', name])
    expect(body.error.message).toContain(name)
  })

  it.each(defaults.map((value) => [value]))('is accepted as %j', async (value) => {
    expect((await sent('/v1/chat/completions', { messages, [name]: value })).status).toBe(200)
  })
})

it.each(['store', 'metadata', 'stream_options', 'prompt_cache_key', 'web_search_options', 'cache_prompt', 'options'])(
  '%s changes no answer and is accepted',
  async (name) => {
    const value = name === 'prompt_cache_key' ? 'k' : name === 'store' ? true : {}
    expect((await sent('/v1/chat/completions', { messages, [name]: value })).status).toBe(200)
  },
)
