/** Tests the API of export and import. */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { calls, model, says, thinks } from '../support/scripted-model.ts'
import { kill, objectOf } from '../durable/support/object.ts'
import {
  bindings,
  call,
  applyMigrations,
  newSession,
  newTenant,
  type ErrorBody,
  request,
  type Session,
} from './client.ts'
import { listLines, listMessages, send } from './listen.ts'
import { ownerAuthority } from '../support/authority.ts'

beforeAll(applyMigrations)

const image = `data:image/png;base64,${'iVBORw0K'.repeat(2_000)}`

async function conversation(): Promise<{ id: string; model: string }> {
  const scripted = model([
    calls({ id: 'c1', name: 'todo', input: { todos: [] } }),
    thinks('so be it', 'It is <b>done</b>.'),
    says('A picture.'),
  ])
  const { id } = await newSession({ model: scripted.id, title: 'A title' })
  await send(id, 'Do it & tell')
  await send(id, 'What is this?', { attachments: [{ type: 'image', url: image }] })
  return { id, model: scripted.id }
}

async function exported(id: string, format: string) {
  const response = await request('GET', `/api/sessions/${id}/export?format=${format}`)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const imported = (text: string, ask: object = {}) =>
  call<Session & ErrorBody>('POST', '/api/sessions/import', { body: text, ...ask })

/** Without what is another session's own. */
const comparable = async (id: string) =>
  (await listMessages<Record<string, unknown>>(id)).map(
    ({ id: _id, seq: _seq, ...rest }) =>
      JSON.parse(
        JSON.stringify(rest)
          .replaceAll(/\/msg_\d+\./g, '/')
          .replaceAll(id, 'ID'),
      ) as object,
  )

describe('an export', () => {
  it.each([
    ['json', 'application/json', '"content":"Do it & tell"'],
    ['jsonl', 'application/jsonl; charset=utf-8', '"content":"Do it & tell"'],
    ['md', 'text/markdown; charset=utf-8', 'It is <b>done</b>.'],
    ['html', 'text/html; charset=utf-8', 'It is &lt;b&gt;done&lt;/b&gt;.'],
    ['sharegpt', 'application/json', '<think>\\nso be it\\n</think>\\nIt is <b>done</b>.'],
  ])('as %s is whole and never shown in the origin of the API', async (format, type, part) => {
    const { id } = await conversation()
    const { status, headers, text } = await exported(id, format)
    expect([status, headers.get('content-type')]).toEqual([200, type])
    expect(headers.get('content-disposition')).toContain(`attachment; filename="${id}.`)
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(text).toContain(part)
    expect(text.includes(image)).toBe(['json', 'jsonl', 'html'].includes(format))
  })

  it('of a session without messages is one', async () => {
    const { id } = await newSession({ title: 'empty' })
    const { text } = await exported(id, 'json')
    expect(JSON.parse(text)).toMatchObject({ format: 'talaria.session', session: { id, title: 'empty' }, messages: [] })
    const { status, body } = await imported(text)
    expect([status, body['title']]).toEqual([201, 'empty'])
  })

  it.each(['', '\n', '\r\n\n'])('on one line is taken whole, with %j behind it', async (end) => {
    const { status, body } = await imported(`{"messages":[{"role":"user","content":"hi"}]}${end}`)
    expect(status).toBe(201)
    expect(await listLines(body.id)).toEqual(['user: hi'])
  })

  it.each(['json', 'jsonl'])(
    'as %s has the files of the workspace on request, and an import restores them',
    async (format) => {
      const { id } = await newSession()
      const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => i % 251)
      await request('PUT', `/api/sessions/${id}/files/notes/a.txt`, { body: 'Grüße' })
      await request('PUT', `/api/sessions/${id}/files/b.bin`, { body: bytes })
      expect((await exported(id, format)).text).not.toContain('a.txt')
      const { status, text } = await exported(id, `${format}&files=1`)
      expect([status, text.includes('"path":"notes/a.txt"')]).toEqual([200, true])
      const { body } = await imported(text)
      const read = async (path: string) =>
        (await request('GET', `/api/sessions/${body.id}/files/${path}`)).arrayBuffer()
      expect(new TextDecoder().decode(await read('notes/a.txt'))).toBe('Grüße')
      expect(new Uint8Array(await read('b.bin'))).toEqual(bytes)
    },
  )

  it('with files in a format that cannot hold them is refused by name', async () => {
    const { id } = await newSession()
    const { status, body } = await call<ErrorBody>('GET', `/api/sessions/${id}/export?format=md&files=1`)
    expect([status, body.error.param]).toEqual([400, 'files'])
  })

  it('for training has neither notices nor summaries, and the stored prompt alone', async () => {
    const lines = [
      { role: 'user', content: 'a question' },
      { role: 'user', content: 'earlier: nothing', source: 'summary' },
      { role: 'user', content: 'go on now', source: 'nudge' },
      { role: 'assistant', content: 'stopped by a limit', source: 'notice' },
      { role: 'assistant', content: 'an answer' },
    ]
    const { body } = await imported(JSON.stringify({ messages: lines }))
    const { conversations } = JSON.parse((await exported(body.id, 'sharegpt')).text) as {
      conversations: { from: string; value: string }[]
    }
    expect(conversations.map(({ from, value }) => `${from}: ${value}`)).toEqual([
      'human: a question',
      'gpt: <think>\n</think>\nan answer',
    ])
  })

  it('in an unknown format is refused by name', async () => {
    const { id } = await newSession()
    const { status, body } = await call<ErrorBody>('GET', `/api/sessions/${id}/export?format=odt`)
    expect([status, body.error.param]).toEqual([400, 'format'])
  })
})

describe('an import', () => {
  it('under an id of its own is made once, also with another body and without an idempotency key', async () => {
    const { key } = await newTenant()
    const take = (content: string) =>
      call<Session>('POST', '/api/sessions/import?id=hermes-7', {
        key,
        body: JSON.stringify({ messages: [{ role: 'user', content }] }),
      })
    const [first, second] = [await take('one'), await take('two')]
    expect([first.status, second.status]).toEqual([201, 200])
    expect([first.body.id, second.body.id]).toEqual(['hermes-7', 'hermes-7'])
    const { body } = await call<{ data: object[] }>('GET', '/api/sessions/hermes-7/messages', { key })
    expect(body.data).toMatchObject([{ content: 'one' }])
  })

  it.each(['json', 'jsonl'])('of %s has the same conversation, and exports the same again', async (format) => {
    const { id, model: modelId } = await conversation()
    const { text } = await exported(id, format)
    const { status, body } = await imported(text)
    expect(status).toBe(201)
    expect(body).toMatchObject({ title: 'A title', model: modelId, source: 'import', parent_id: null, status: 'idle' })
    expect(await comparable(body.id)).toEqual(await comparable(id))
    const again = await exported(body.id, format)
    const same = (one: string) => one.replaceAll(/"session":\{[^}]*\}/g, '')
    expect(same(again.text)).toBe(same(text))
  })

  it('continues the conversation, and its turns can be undone', async () => {
    const { id } = await conversation()
    const { body } = await imported((await exported(id, 'json')).text)
    const scripted = model([says('further')])
    expect(await send(body.id, 'go on', { model: scripted.id })).toMatchObject({ output: 'further' })
    const sent = JSON.stringify(scripted.requests[0]?.messages)
    for (const words of ['Do it & tell', 'It is <b>done</b>.', image.slice(0, 100), 'go on'])
      expect(sent).toContain(words)
    await call('POST', `/api/sessions/${body.id}/undo`, { body: { n: 2 } })
    expect((await listLines(body.id)).map((line) => line.slice(0, 20))).toEqual([
      'user: Do it & tell',
      'assistant: → todo',
      expect.stringContaining('tool:'),
      'assistant: It is <b>',
    ])
  })

  itInTurn('of a long conversation is complete after the object wakes up', async () => {
    const messages = Array.from({ length: 1_500 }, (_, n) => ({
      role: n % 2 ? 'assistant' : 'user',
      content: `number ${n} ${'and on '.repeat(60)}`,
    }))
    const { body } = await imported(JSON.stringify({ messages }))
    await kill(body.id)
    const scripted = model([says('further')])
    await send(body.id, 'go on', { model: scripted.id })
    const sent = scripted.requests[0]?.messages.filter(({ role }) => role !== 'system').map(({ content }) => content)
    expect(sent).toEqual([...messages.map(({ content }) => content), 'go on'])
  })

  it('keeps a summary in its place', async () => {
    const messages = [
      { role: 'user', content: 'old', seq: 11, run_id: 'run_a' },
      { role: 'assistant', content: 'old answer', seq: 12, run_id: 'run_a' },
      { role: 'user', content: 'SUMMARY', source: 'summary', covers: 12, seq: 13, run_id: 'run_b' },
      { role: 'user', content: 'new', seq: 14, run_id: 'run_b' },
      { role: 'assistant', content: 'new answer', seq: 15, run_id: 'run_b' },
    ]
    const { body } = await imported(JSON.stringify({ messages }))
    const listed = await listMessages<{ content: string; compacted: boolean }>(body.id)
    expect(listed.map(({ content, compacted }) => [content, compacted])).toEqual([
      ['old', true],
      ['old answer', true],
      ['SUMMARY', false],
      ['new', false],
      ['new answer', false],
    ])
    const scripted = model([says('yes')])
    await send(body.id, 'more', { model: scripted.id })
    const sent = JSON.stringify(scripted.requests[0]?.messages)
    expect([sent.includes('SUMMARY'), sent.includes('new answer'), sent.includes('old answer')]).toEqual([
      true,
      true,
      false,
    ])
  })

  it('hides only messages before a real summary', async () => {
    const turn = (seq: number) => [
      { role: 'user', content: `${seq}`, seq, covers: 99 },
      { role: 'assistant', content: `answer ${seq}`, seq: seq + 1, covers: 99 },
    ]
    const summary = { role: 'user', content: 'SUMMARY', source: 'summary', covers: 99, seq: 3 }
    const { body } = await imported(JSON.stringify({ messages: [...turn(1), summary, ...turn(4)] }))
    const listed = await listMessages<{ content: string; compacted: boolean }>(body.id)
    expect(listed.filter(({ compacted }) => !compacted).map(({ content }) => content)).toEqual([
      'SUMMARY',
      '4',
      'answer 4',
    ])
  })

  it('of plain chat messages works too, with a model that is not here left out', async () => {
    const text = JSON.stringify({
      session: { title: 'From elsewhere', model: 'nowhere/none' },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', content: 'Hello', refusal: null },
      ],
    })
    const { body } = await imported(text)
    expect(body).toMatchObject({ title: 'From elsewhere', model: null })
    expect(await listLines(body.id)).toEqual(['user: Hi', 'assistant: Hello'])
  })

  it('keeps its own large images, and none of other sessions', async () => {
    const { id } = await conversation()
    const { body } = await imported((await exported(id, 'json')).text)
    const own = await bindings.BLOBS?.list({ prefix: `t/default/s/${body.id}/attachments/` })
    expect(own?.objects).toHaveLength(1)
    const theirs = await bindings.BLOBS?.list({ prefix: `t/default/s/${id}/attachments/` })
    const stolen = { type: 'image', mediaType: 'image/png', data: `blob:${theirs?.objects[0]?.key}` }
    const refused = await imported(JSON.stringify({ messages: [{ role: 'user', content: '', parts: [stolen] }] }))
    expect([refused.status, refused.body.error.param]).toEqual([400, 'messages.0.parts.0'])
  })

  it('repeated with its idempotency key creates one session', async () => {
    const text = JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] })
    const headers = { 'idempotency-key': 'import-once' }
    const first = await imported(text, { headers })
    const second = await imported(text, { headers })
    expect([second.status, second.body.id, second.headers.get('idempotency-replayed')]).toEqual([
      201,
      first.body.id,
      'true',
    ])
    expect(await listLines(first.body.id)).toEqual(['user: Hi'])
    expect((await imported(`${text} `, { headers })).status).toBe(409)
  })

  it('belongs to the tenant of the key', async () => {
    const { id: tenantId, key } = await newTenant()
    const { body } = await imported(JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] }), { key })
    expect(await objectOf(body.id, tenantId).info.get(ownerAuthority(tenantId))).toMatchObject({ id: body.id })
    expect((await call('GET', `/api/sessions/${body.id}/export`)).status).toBe(404)
  })

  it.each([
    ['no JSON', '{"messages":', 'body'],
    ['a list', '[]', 'body'],
    ['a line that is none', '{"format":"talaria.session"}\n{"role":"user","content":"x"}\nnonsense', 'body'],
    ['a role that is none', '{"messages":[{"role":"king","content":"x"}]}', 'messages.0.role'],
    ['the same in a line', '{"role":"user","content":"x"}\n{"role":"king"}', 'messages.1.role'],
    ['another format', '{"format":"other","messages":[]}', 'format'],
    ['a later version', '{"version":2,"messages":[]}', 'version'],
    ['nothing', '{}', 'messages'],
    ['messages that are none', '{"messages":5}', 'messages'],
  ])('with %s is refused by name', async (_name, text, param) => {
    const { status, body } = await imported(text)
    expect([status, body.error.param]).toEqual([400, param])
  })

  it.each(['user', 'assistant'])('with a message of the %s that no row holds is refused by name', async (role) => {
    const messages = [
      { role: 'user', content: 'Hi' },
      { role, content: 'é'.repeat(920_000) },
    ]
    const { status, body } = await imported(JSON.stringify({ messages }))
    expect([status, body.error.code, body.error.param]).toEqual([413, 'body_too_large', 'messages.1'])
  })
})

it('of pdf has what was said, without tools', async () => {
  const { key } = await newTenant()
  const { id } = await newSession({ model: model([calls({ name: 'todo', input: {} }), says('Walnuts.')]).id }, key)
  await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'Which nuts?' } })
  const answer = await request('GET', `/api/sessions/${id}/export?format=pdf`, { key })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/pdf'])
  expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${id}.pdf"`)
  const bytes = new Uint8Array(await answer.arrayBuffer())
  expect(new TextDecoder().decode(bytes.subarray(0, 5))).toBe('%PDF-')
  expect(bytes.byteLength).toBeGreaterThan(500)
  expect((await request('GET', `/api/sessions/${id}/export?format=pdf&files=1`, { key })).status).toBe(400)
})
