/** Tests answers in a format that the client asks for: validated, repaired once, held back from streams until then. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, fails, model, type Reply, says, thinks } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, request } from './client.ts'

beforeAll(applyMigrations)

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, size: { type: 'integer', minimum: 1 } },
  required: ['city'],
  additionalProperties: false,
}
const asked = 'where?'
const surfaces = {
  chat: {
    path: '/v1/chat/completions',
    body: {
      messages: [{ role: 'user', content: asked }],
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema } },
    },
  },
  responses: {
    path: '/v1/responses',
    body: { input: asked, text: { format: { type: 'json_schema', name: 'place', schema } } },
  },
} as const
type Surface = keyof typeof surfaces
const both = ['chat', 'responses'] as const

type Whole = {
  readonly choices?: readonly { readonly message: { readonly content: string }; readonly finish_reason: string }[]
  readonly output?: readonly { readonly type: string; readonly content?: readonly { readonly text: string }[] }[]
}
const textOf = ({ choices, output = [] }: Whole): string | undefined =>
  choices
    ? choices[0]?.message.content
    : output.flatMap(({ type, content = [] }) => (type === 'message' ? content.map(({ text }) => text) : [])).join('')

async function ask(surface: Surface, replies: readonly Reply[], more: object = {}) {
  const { path, body } = surfaces[surface]
  const scripted = model(replies)
  const answer = await call<Whole & ErrorBody>('POST', path, { body: { ...body, ...more, model: scripted.id } })
  return { ...answer, requests: scripted.requests }
}

const good = '{"city":"Bonn"}'
const bad = '{"town":"Bonn"}'

describe.each(both)('an answer in a format of %s', (surface) => {
  it('passes when it matches', async () => {
    const { status, body, requests } = await ask(surface, [says(good)])
    expect([status, textOf(body)]).toEqual([200, good])
    expect(requests).toHaveLength(1)
    expect(requests[0]?.['response_format']).toEqual({
      type: 'json_schema',
      json_schema: expect.objectContaining({ schema }),
    })
  })

  it.each([
    ['a code fence', `\`\`\`json\n${good}\n\`\`\``],
    ['a sentence before it', `Here you are: ${good}`],
    ['white space', `\n${good}\n\n`],
  ])('loses %s', async (_what, text) => {
    const { body, requests } = await ask(surface, [says(text)])
    expect(textOf(body)).toBe(good)
    expect(requests).toHaveLength(1)
  })

  it('is asked for again, without tools and with what is wrong', async () => {
    const { status, body, requests } = await ask(surface, [says(bad), says(good)])
    expect([status, textOf(body)]).toEqual([200, good])
    expect(requests).toHaveLength(2)
    expect(requests[1]?.tools).toBeUndefined()
    const said = JSON.stringify(requests[1]?.messages.at(-1))
    for (const part of ['/city is missing', '/town is not allowed', 'town']) expect(said).toContain(part)
    // The wrong answer is no part of the conversation.
    expect(requests[1]?.messages.filter(({ role }) => role === 'assistant')).toEqual([])
  })

  it('is an error when the second one does not match either', async () => {
    const { status, body, requests } = await ask(surface, [says('no JSON'), says(bad), says(good)])
    expect(status).toBe(422)
    expect(body.error.code).toBe('invalid_output')
    expect(body.error.message).toContain('/city is missing')
    expect(requests).toHaveLength(2)
  })

  it('is the last of several steps, and text beside calls is no part of it', async () => {
    const todo = { name: 'todo', input: { todos: [{ id: '1', content: 'find it', status: 'pending' }] } }
    const step = calls(todo) as readonly string[]
    const told = [...(says('I look it up. ') as readonly string[]).slice(0, 1), ...step]
    const { body, requests } = await ask(surface, [told, says(bad), says(good)])
    expect(textOf(body)).toBe(good)
    expect(requests.map(({ tools = [] }) => tools.length > 0)).toEqual([true, true, false])
  })

  it('is told by the system text after the provider has refused the format', async () => {
    const { status, body, requests } = await ask(surface, [
      fails(400, "Invalid schema for response_format 'place'"),
      says(good),
    ])
    expect([status, textOf(body)]).toEqual([200, good])
    expect(requests[1]?.['response_format']).toBeUndefined()
    expect(JSON.stringify(requests[1]?.messages[0])).toContain('It must match this JSON schema')
  })
})

describe('JSON without a schema', () => {
  it.each([
    ['{"any":1}', 1],
    ['[1]', 2],
    ['"text"', 2],
  ])('has to be an object: %s', async (text, times) => {
    const format = { response_format: { type: 'json_object' } }
    const { status, requests } = await ask('chat', [says(text), says('{}')], format)
    expect([status, requests.length]).toEqual([200, times])
  })

  it('is not asked for where the format is text', async () => {
    const { body, requests } = await ask('chat', [says('Bonn')], { response_format: { type: 'text' } })
    expect(textOf(body)).toBe('Bonn')
    expect(JSON.stringify(requests[0]?.messages.slice(1))).not.toContain('JSON')
  })
})

/** The data of all events of a stream. */
async function stream(surface: Surface, replies: readonly Reply[]): Promise<readonly Record<string, unknown>[]> {
  const { path, body } = surfaces[surface]
  const response = await request('POST', path, { body: { ...body, stream: true, model: model(replies).id } })
  const text = await response.text()
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Record<string, unknown>)
}

const chunkText = (chunk: Record<string, unknown>): string =>
  (chunk as { choices?: readonly { delta?: { content?: string } }[] }).choices?.[0]?.delta?.content ?? ''

describe('a streamed answer in a format', () => {
  it.each([
    ['at once', [says('{"ci', 'ty":"Bonn"}')]],
    ['after a repair', [says(bad), says(good)]],
    ['after a repair of an answer with thinking', [thinks('hm', bad), thinks('so', good)]],
    [
      'after steps with text',
      [
        [
          ...(says('I look. ') as readonly string[]).slice(0, 1),
          ...(calls({ name: 'todo', input: {} }) as readonly string[]),
        ],
        says(good),
      ],
    ],
  ] as const)('comes %s, and its texts join to one JSON', async (_when, replies) => {
    const chunks = await stream('chat', replies)
    expect(chunks.map(chunkText).join('')).toBe(good)
    const events = await stream('responses', replies)
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta)
    expect(deltas.join('')).toBe(good)
    const last = events.at(-1) as { readonly type: string; readonly response: Whole }
    expect([last.type, textOf(last.response)]).toEqual(['response.completed', good])
  })

  it('is an error without a stream when it cannot be repaired', async () => {
    const { path, body } = surfaces.chat
    const response = await request('POST', path, {
      body: { ...body, stream: true, model: model([says(bad), says(bad)]).id },
    })
    expect([response.status, ((await response.json()) as ErrorBody).error.code]).toEqual([422, 'invalid_output'])
  })
})

it('an answer in a format comes after calls of tools of the client', async () => {
  const weather = { id: 'call_w', name: 'weather', input: { at: 'Bonn' } }
  const scripted = model([calls(weather), says(bad), says(good)])
  const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }]
  const body = { ...surfaces.chat.body, model: scripted.id, tools }
  type Called = { choices: readonly { finish_reason: string; message: { tool_calls: readonly { id: string }[] } }[] }
  const first = (await call<Called>('POST', surfaces.chat.path, { body })).body.choices[0]
  expect(first?.finish_reason).toBe('tool_calls')
  const result = { role: 'tool', tool_call_id: first?.message.tool_calls[0]?.id, content: 'sunny' }
  const messages = [...surfaces.chat.body.messages, first?.message, result]
  const second = await call<Whole>('POST', surfaces.chat.path, { body: { ...body, messages } })
  expect([second.status, textOf(second.body)]).toEqual([200, good])
  expect(scripted.requests.map((sent) => sent['response_format'] !== undefined)).toEqual([true, true, true])
})

it('refuses a schema that is too large', async () => {
  const large = { type: 'object', description: 'x'.repeat(70_000) }
  const { status, body } = await call<ErrorBody>('POST', '/v1/chat/completions', {
    body: {
      ...surfaces.chat.body,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: large } },
    },
  })
  expect([status, body.error.param]).toEqual([400, 'response_format'])
})

it('refuses a format that does not exist', async () => {
  const { status, body } = await call<ErrorBody>('POST', '/v1/chat/completions', {
    body: { messages: surfaces.chat.body.messages, response_format: { type: 'grammar' } },
  })
  expect([status, body.error.param]).toEqual([400, 'response_format.type'])
})
