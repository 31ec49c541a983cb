/** Tests the size limits of requests: accepted texts are stored whole, refused ones name their field. */

import { beforeAll, describe, expect, it } from 'vitest'
import { createD1History } from '#db/history.ts'
import { model, says, until } from '../support/scripted-model.ts'
import { bindings, call, applyMigrations, newSession, newTenant, type ErrorBody } from './client.ts'

beforeAll(applyMigrations)

const x = (length: number) => 'x'.repeat(length)
const hi = { role: 'user', content: 'hi' }
const system = (length: number) => ({ role: 'system', content: x(length) })
const parts = (type: string, ...texts: readonly string[]) => texts.map((text) => ({ type, text }))
const times = <T>(n: number, one: T): readonly T[] => Array.from({ length: n }, () => one)
const million = x(1_000_000)

const completions = (...messages: readonly object[]) => ['/v1/chat/completions', { messages }] as const
const responses = (input: unknown, more: object = {}) => ['/v1/responses', { input, ...more }] as const

describe('an image', () => {
  it.each([
    ['no name of what is stored', 'data:image/png;base64,blob:t/other/s/x/attachments/y'],
    ['however long it is', `data:image/png;base64,A${' '.repeat(1_000_000)}!`],
  ])('is base64 and nothing else: %s', async (_what, url) => {
    const { id } = await newSession()
    const answer = await call('POST', `/api/sessions/${id}/chat`, {
      body: { input: 'look', attachments: [{ type: 'image', url }] },
    })
    expect(answer).toMatchObject({ status: 400, body: { error: { param: 'attachments.0.url' } } })
  })
})

describe('more text than a row holds', () => {
  it.each([
    ['one message of the system', 'messages.0.content', completions(system(600_000), hi)],
    [
      'many messages of the system',
      'messages.3.content',
      completions(system(90_000), hi, ...times(3, system(90_000)), hi),
    ],
    [
      'parts of the system',
      'messages.0.content',
      completions({ role: 'system', content: parts('text', x(90_000), x(150_000)) }, hi),
    ],
    [
      'parts of a result',
      'messages.1.content',
      completions(hi, { role: 'tool', tool_call_id: 'c', content: parts('text', ...times(5, x(500_000))) }, hi),
    ],
    [
      'parts of an earlier message',
      'messages.0.content',
      completions({ role: 'user', content: parts('text', ...times(4, x(500_000))) }, hi),
    ],
    [
      'arguments of a call',
      'messages.1.tool_calls',
      completions(
        hi,
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', function: { name: 'f', arguments: JSON.stringify({ a: million, b: million }) } }],
        },
        hi,
      ),
    ],
    [
      'letters that take more bytes as they are stored',
      'messages',
      completions({ role: 'user', content: '\u0001'.repeat(400_000) }),
    ],
    [
      'instructions beside items of the system',
      'input.0.content',
      responses([{ role: 'system', content: x(190_000) }, hi], { instructions: x(40_000) }),
    ],
    [
      'results of a response',
      'input.1',
      responses([
        hi,
        { type: 'function_call_output', call_id: 'c', output: parts('input_text', ...times(4, x(500_000))) },
        hi,
      ]),
    ],
    [
      'items that make one answer',
      'input.4',
      responses([hi, ...times(4, { role: 'assistant', content: x(600_000) }), hi]),
    ],
  ])('%s is refused by name', async (_what, param, [path, body]) => {
    const { key } = await newTenant()
    const answer = await call<ErrorBody>('POST', path, { key, body: { model: model([]).id, ...body } })
    expect([answer.status, answer.body.error?.param]).toEqual([400, param])
    expect((await call<{ data: object[] }>('GET', '/api/sessions', { key })).body.data).toEqual([])
  })

  it('counts bytes of instructions, not characters', async () => {
    const { id } = await newSession({ model: model([]).id })
    const body = { input: 'hi', instructions: '\u0001'.repeat(50_000) }
    const answer = await call<ErrorBody>('POST', `/api/sessions/${id}/chat`, { body })
    expect([answer.status, answer.body.error?.param]).toEqual([400, 'instructions'])
  })
})

it('the largest accepted message is complete in history', async () => {
  const { id: tenant, key } = await newTenant()
  const scripted = model([says('Long.')])
  const settings = { models: { [scripted.id]: { context_window: 20_000_000 } } }
  await call('PATCH', '/api/settings', { key, body: settings })
  const messages = [system(199_000), { role: 'user', content: x(600_000) }]
  const { status, headers } = await call('POST', '/v1/chat/completions', {
    key,
    body: { model: scripted.id, messages },
  })
  expect(status).toBe(200)
  const pages = await until(async () => {
    const stored = await createD1History(bindings.DB, tenant).listPages(headers.get('x-talaria-session-id') ?? '', 0)
    return stored.length ? stored : undefined
  })
  const [said] = pages.flatMap(({ entries }) => entries.map(({ message }) => message.content))
  const [{ options }] = pages.flatMap(({ turn }) => (turn ? [turn] : [])) as [{ options: { instructions: string } }]
  // Compared here: nobody wants to read the difference.
  expect(JSON.stringify(said) === JSON.stringify([{ type: 'text', text: x(600_000) }])).toBe(true)
  expect(options.instructions === x(199_000)).toBe(true)
})
