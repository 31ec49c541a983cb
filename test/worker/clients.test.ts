/** Tests requests as existing clients of OpenAI's API send them. */

import { beforeAll, describe, expect, it } from 'vitest'
import { type ModelRequest, model, listTexts, says } from '../support/scripted-model.ts'
import { call, applyMigrations, type ErrorBody, request } from './client.ts'

beforeAll(applyMigrations)

const user = (content: unknown) => ({ role: 'user', content })
type Completion = ErrorBody & { readonly choices: readonly { readonly message: object }[] }

/** The request that the model received, and the status of the answer. */
async function chat(messages: readonly object[], more: object = {}) {
  let received: ModelRequest | undefined
  const { id } = model((one) => {
    received = one
    return says('Yes.')
  })
  const body = { model: id, messages, ...more }
  const answer = await call<Completion>('POST', '/v1/chat/completions', { body })
  return { status: answer.status, body: answer.body, received, said: received && listTexts(received) }
}

describe('a base address', () => {
  it.each(['/v1/models', '/v1//models', '//v1/models', '/v1/v1/models', '/v1/models/', '/v1/models/talaria/'])(
    'that was typed in a hurry works: %s',
    async (path) => {
      const answer = await request('GET', path)
      expect([path, answer.status]).toEqual([path, 200])
      await answer.text()
    },
  )

  it('does not bypass authentication', async () => {
    for (const path of ['//v1/models', '/v1/v1/models', '/v1/v1/nothing']) {
      const answer = await request('GET', path, { key: null })
      expect([path, answer.status]).toEqual([path, 401])
      await answer.text()
    }
  })

  it('applies only to its own routes', async () => {
    for (const path of ['//api/sessions', '/api//sessions', '/v1/v1', '/v1models']) {
      const answer = await request('GET', path)
      expect([path, answer.status]).toEqual([path, 404])
      await answer.text()
    }
  })
})

describe('a chat completion', () => {
  it('may carry every field that a client always sends', async () => {
    const nothing = Object.fromEntries(
      ['temperature', 'top_p', 'max_tokens', 'max_completion_tokens', 'stop', 'n', 'stream', 'stream_options'].map(
        (name) => [name, null],
      ),
    )
    const { status } = await chat([user('Sure?')], {
      ...nothing,
      tools: [],
      functions: null,
      tool_choice: 'none',
      function_call: 'none',
      response_format: { type: 'text' },
      user: 'me',
      audio: null,
      web_search_options: {},
      prompt_cache_retention: '24h',
      top_k: 40,
      min_p: 0,
      repetition_penalty: 1.1,
      include_reasoning: true,
      chat_template_kwargs: { enable_thinking: false },
      keep_alive: '5m',
      usage: { include: true },
    })
    expect(status).toBe(200)
  })

  it('uses the reasoning effort of OpenRouter’s clients', async () => {
    const { received } = await chat([user('Sure?')], { reasoning: { effort: 'low' } })
    expect(received?.['reasoning_effort']).toBe('low')
    const both = await chat([user('Sure?')], { reasoning: { effort: 'low' }, reasoning_effort: 'high' })
    expect(both.received?.['reasoning_effort']).toBe('high')
  })

  it('may have messages without content, and in parts of more than their text', async () => {
    const { status, said, received } = await chat([
      { role: 'system', content: null },
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
      { ...user('Look.'), name: 'ann' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', function: { name: 'look', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: null },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }], refusal: 'No.', tool_calls: [] },
      user([{ type: 'text', text: 'Sure?', cache_control: { type: 'ephemeral' } }]),
    ])
    expect(status).toBe(200)
    expect(received?.messages[0]?.content).toMatch(/Be brief\.$/)
    expect(said).toEqual(['user: Look.', 'assistant: → look', 'tool: ', 'assistant: No.', 'user: Sure?'])
  })

  it('accepts an image with unknown fields beside its address', async () => {
    const url = 'data:image/png;base64,iVBORw0KGgo='
    const { status } = await chat([
      user([
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url, detail: null } },
      ]),
    ])
    expect(status).toBe(200)
  })

  it('refuses a message without text', async () => {
    for (const content of [null, '', []]) {
      const { status, body } = await chat([user(content)])
      expect([status, body.error.param]).toEqual([400, 'messages'])
    }
  })

  it('is answered with every field that an SDK reads', async () => {
    const { body } = await chat([user('Sure?')])
    expect(body.choices).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: 'Yes.', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ])
  })
})
