/** Tests chat completions with the official OpenAI SDK. */

import OpenAI, { APIError, AuthenticationError, BadRequestError, NotFoundError, RateLimitError } from 'openai'
import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { listModelRequests, owner, server, createTenant } from './support/here.ts'

const sdk = (apiKey = server.key) => new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 })
const user = (content: string) => [{ role: 'user' as const, content }]

describe('the official OpenAI SDK', () => {
  it('chats', async () => {
    const completion = await sdk().chat.completions.create({ model: 'talaria', messages: user('[[say good day]]') })
    expect(completion.object).toBe('chat.completion')
    expect(completion.choices[0]).toMatchObject({
      index: 0,
      finish_reason: 'stop',
      message: { role: 'assistant', content: 'good day' },
    })
    expect(completion.usage?.total_tokens).toBeGreaterThan(0)
  })

  it('streams, with the usage on the last chunk when asked', async () => {
    const stream = await sdk().chat.completions.create({
      model: 'talaria',
      messages: user('[[text 20]] [[slow gap=40 chunks=20]]'),
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)
    const parts = chunks.flatMap((chunk) => chunk.choices[0]?.delta.content || [])
    expect(parts.join('').trim()).toBe(Array.from({ length: 20 }, (_, n) => `word${n}`).join(' '))
    expect(parts.length).toBeGreaterThan(1)
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
    expect(chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason)).filter(Boolean)).toEqual([
      'stop',
    ])
    expect(chunks.at(-1)?.usage?.total_tokens).toBeGreaterThan(0)
  })

  it('streams a turn with tools, whose progress is in separate events', async () => {
    const stream = await sdk().chat.completions.create({
      model: 'talaria',
      messages: user('[[call write_file {"path":"a.txt","content":"hello"} then say written]]'),
      stream: true,
    })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe('written')
  })

  it('lists models', async () => {
    const ids = []
    for await (const model of sdk().models.list()) ids.push(model.id)
    expect(ids).toContain('talaria')
    expect(ids).toContain('openai/bench')
    expect((await sdk().models.retrieve('talaria')).id).toBe('talaria')
  })

  itInTurn('takes a whole history, without an earlier session', async () => {
    const completion = await sdk().chat.completions.create({
      model: 'talaria',
      messages: [
        { role: 'system', content: 'You are brief.' },
        ...user('[[text 3]]'),
        { role: 'assistant', content: 'word0 word1 word2' },
        ...user('[[echo]] the last one'),
      ],
    })
    expect(completion.choices[0]?.message.content).toBe('the last one')
  })

  it('continues a stored session that a header names', async () => {
    const first = await sdk()
      .chat.completions.create({ model: 'talaria', messages: user('[[echo]] one') })
      .withResponse()
    const id = first.response.headers.get('x-talaria-session-id') ?? ''
    expect(id).not.toBe('')
    expect(first.response.headers.get('x-hermes-session-id')).toBe(id)
    const second = await sdk()
      .chat.completions.create(
        { model: 'talaria', messages: [...user('not this'), ...user('[[echo]] two')] },
        { headers: { 'X-Hermes-Session-Id': id } },
      )
      .withResponse()
    expect(second.response.headers.get('x-talaria-session-id')).toBe(id)
    const said = (await owner.messages(id)).map(({ role, content }) => [role, content])
    expect(said).toEqual([
      ['user', '[[echo]] one'],
      ['assistant', 'one'],
      ['user', '[[echo]] two'],
      ['assistant', 'two'],
    ])
  })
})

describe('a session that a client names', () => {
  it('is made by its first message and continued by the next', async () => {
    const send = (content: string) =>
      sdk()
        .chat.completions.create(
          { model: 'talaria', messages: user(content) },
          { headers: { 'X-Talaria-Session-Id': 'my.chat:1' } },
        )
        .withResponse()
    const headers = [await send('[[say one]]'), await send('[[say two]]')].map(({ response }) => response.headers)
    expect(headers.map((one) => one.get('x-talaria-session-id'))).toEqual(['my.chat:1', 'my.chat:1'])
    expect(await owner.messages('my.chat:1')).toHaveLength(4)
  })
})

describe('errors as the SDK types them', () => {
  const failure = async (act: Promise<unknown>) => {
    const error = await act.then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(APIError)
    return error as APIError
  }

  it('401 for a wrong key', async () => {
    const error = await failure(sdk('tal_nobody_nothing').models.list())
    expect(error).toBeInstanceOf(AuthenticationError)
    expect(error).toMatchObject({ status: 401, code: 'invalid_api_key' })
  })

  it('404 for an unknown model', async () => {
    const error = await failure(sdk().chat.completions.create({ model: 'nobody/nothing', messages: user('x') }))
    expect(error).toBeInstanceOf(NotFoundError)
    expect(error).toMatchObject({ code: 'model_not_found', param: 'model' })
  })

  it('404 for a name that no session can have', async () => {
    const request = { model: 'talaria', messages: user('x') }
    const name = { 'X-Talaria-Session-Id': 'no/name' }
    expect(await failure(sdk().chat.completions.create(request, { headers: name }))).toBeInstanceOf(NotFoundError)
  })

  itInTurn('400 for an unsupported field, with its name', async () => {
    const error = await failure(sdk().chat.completions.create({ model: 'talaria', messages: user('x'), n: 2 }))
    expect(error).toBeInstanceOf(BadRequestError)
    expect(error).toMatchObject({ param: 'n', type: 'invalid_request_error' })
    const none = await failure(sdk().chat.completions.create({ model: 'talaria', messages: [] }))
    expect(none).toMatchObject({ status: 400, param: 'messages' })
  })

  itInTurn('429 over a limit, with its name and Retry-After', async () => {
    const { id, key } = await createTenant()
    const limits = { requests_per_minute: 2 }
    expect((await owner.send('PATCH', `/api/admin/tenants/${id}`, { body: { limits } })).status).toBe(200)
    await sdk(key).models.list()
    await sdk(key).models.list()
    const error = await failure(sdk(key).models.list())
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ code: 'limit_exceeded', param: 'requests_per_minute' })
    expect(Number(error.headers?.get('retry-after'))).toBeGreaterThan(0)
  })
})

describe('a failing model', () => {
  it('is called again, and the client gets one answer', async () => {
    const messages = user('[[status 503 times=1 nonce=trouble-503]] [[say recovered]]')
    const completion = await sdk().chat.completions.create({ model: 'talaria', messages })
    expect(completion.choices[0]?.message.content).toBe('recovered')
    expect((await listModelRequests('trouble-503')).map(({ status }) => status)).toEqual([503, 200])
  })
})
