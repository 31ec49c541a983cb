/** Tests that images and files of requests reach the model, and are listed as their client has sent them. */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { lines, pdfWith } from '#test/backends/support/pdf.ts'
import { beforeAll, expect, it } from 'vitest'
import { vendors } from '#test/support/media-vendors.ts'
import { calls, listTexts, model, says } from '#test/support/scripted-model.ts'
import { applyMigrations, call, newTenant } from '../client.ts'

beforeAll(applyMigrations)

type Item = { readonly type: string; readonly id: string; readonly call_id?: string; readonly content?: unknown }
type Created = { readonly id: string; readonly output: readonly Item[] }
type List = { readonly data: readonly Item[] }

const toBase64 = (text: string) => encodeBase64Bytes(new TextEncoder().encode(text))
const textFile = (text: string, filename = 'note.txt') => ({
  type: 'input_file',
  filename,
  file_data: `data:text/plain;base64,${toBase64(text)}`,
})
/** Larger than what is stored in a row. */
const largeImage = {
  type: 'input_image',
  image_url: `data:image/png;base64,${toBase64('p'.repeat(30_000))}`,
  detail: 'low',
}
const text = (value: string) => ({ type: 'input_text', text: value })
const user = (content: unknown) => ({ type: 'message', role: 'user', content })

const create = async (key: string, body: object) => {
  const { status, body: created } = await call<Created>('POST', '/v1/responses', { key, body })
  expect(status).toBe(200)
  return created
}
const listInput = async (key: string, id: string) =>
  (await call<List>('GET', `/v1/responses/${id}/input_items?order=asc`, { key })).body.data

it('lists the items of a request as they were sent', async () => {
  vendors.begin(() => Response.json({ error: { message: 'no transcriber' } }, { status: 404 }))
  const { key } = await newTenant()
  const pdf = encodeBase64Bytes(await pdfWith([lines('Annual report')]))
  const whitespace = toBase64('w'.repeat(9_000)).replace(/(.{76})/g, '$1\r\n')
  const first = [
    text('See '),
    textFile('Grüße'),
    text(' and blob:nothing.'),
    largeImage,
    { type: 'input_file', filename: 'a.pdf', file_data: pdf },
    { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
    { type: 'input_file', filename: 'long.txt', file_data: whitespace },
    { type: 'input_audio', input_audio: { data: toBase64('sound'), format: 'wav' } },
  ]
  const second = [textFile('B', 'b.txt'), text('And the last one.')]
  const scripted = model([says('Read.')])
  const { id } = await create(key, { model: scripted.id, input: [user(first), user(second)] })
  const listed = await listInput(key, id)
  expect(listed.map(({ content }) => content)).toEqual([first, second])
  expect(new Set(listed.map((one) => one.id)).size).toBe(2)
  const asked = listTexts(scripted.requests[0]!).join('\n')
  for (const content of ['Grüße', 'Annual report', 'b.txt contains:]\\nB\\n[End of']) expect(asked).toContain(content)
  expect(scripted.requestTexts[0]).not.toMatch(/"sent"|"unread"|blob:t/)
})

it('lists an upload by its id', async () => {
  const { key } = await newTenant()
  const form = new FormData()
  form.set('file', new File(['a,b'], 'report.csv'))
  form.set('purpose', 'user_data')
  const encoded = new Response(form)
  const { body } = await call<{ id: string }>('POST', '/v1/files', {
    key,
    body: new Uint8Array(await encoded.arrayBuffer()),
    headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
  })
  const content = [{ type: 'input_file', file_id: body.id }, text('Sum it up.')]
  const { id } = await create(key, { model: model([says('Read.')]).id, input: [user(content)] })
  expect((await listInput(key, id))[0]?.content).toEqual(content)
})

it('gives the model the files of earlier messages and of results, which no session has read', async () => {
  const { key } = await newTenant()
  const scripted = model([says('Read.')])
  const input = [
    user([textFile('first content'), text('Keep it.')]),
    { type: 'message', role: 'assistant', content: 'Kept.' },
    { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: [text('Here:'), textFile('third content', 'c.txt')] },
    user('What does it say?'),
  ]
  const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }]
  const { id } = await create(key, { model: scripted.id, store: false, input, tools })
  const asked = listTexts(scripted.requests[0]!).join('\n')
  expect(asked).toContain('first content')
  expect(asked).toContain('third content')
  expect(id).toBeDefined()
  const stored = await create(key, { model: model([says('Read.')]).id, input, tools })
  const listed = await listInput(key, stored.id)
  expect(listed[0]?.content).toEqual([textFile('first content'), text('Keep it.')])
  expect(listed.find(({ type }) => type === 'function_call_output')).toMatchObject({
    output: [text('Here:'), textFile('third content', 'c.txt')],
  })
})

it('gives the model the files of a completion that repeats a conversation of another server', async () => {
  const { key } = await newTenant()
  const scripted = model([says('Read.')])
  const file = (content: string) => ({
    type: 'file',
    file: { filename: 'a.txt', file_data: `data:text/plain;base64,${btoa(content)}` },
  })
  const messages = [
    { role: 'user', content: [file('old content'), { type: 'text', text: 'Keep it.' }] },
    { role: 'assistant', content: 'Kept.' },
    { role: 'user', content: [file('new content'), { type: 'text', text: 'Compare.' }] },
  ]
  const { status } = await call('POST', '/v1/chat/completions', { key, body: { model: scripted.id, messages } })
  expect(status).toBe(200)
  const asked = listTexts(scripted.requests[0]!).join('\n')
  expect(asked).toContain('old content')
  expect(asked).toContain('new content')
})

it('reads the files of a result, and of a message beside it, of a run that waits', async () => {
  const { key } = await newTenant()
  const scripted = model([calls({ name: 'look', input: {} }), says('Read.')])
  const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }]
  const first = await create(key, { model: scripted.id, input: 'Look.', tools })
  const called = first.output.find(({ type }) => type === 'function_call')
  const result = {
    type: 'function_call_output',
    call_id: called?.call_id,
    output: [textFile('result content', 'r.txt'), largeImage],
  }
  const next = await create(key, {
    model: scripted.id,
    previous_response_id: first.id,
    input: [result, user([text('And this:'), textFile('message content', 'm.txt')])],
    tools,
  })
  const asked = listTexts(scripted.requests[1]!).join('\n')
  expect(asked).toContain('result content')
  expect(asked).toContain('message content')
  const listed = await listInput(key, next.id)
  expect(listed).toMatchObject([
    { type: 'function_call_output', output: result.output },
    { role: 'user', content: [text('And this:'), textFile('message content', 'm.txt')] },
  ])
})

it('keeps the files and images of the items of a conversation', async () => {
  const { key } = await newTenant()
  const content = [text('Keep this: '), textFile('kept content'), largeImage]
  const { body: conversation } = await call<{ id: string }>('POST', '/v1/conversations', { key, body: {} })
  const path = `/v1/conversations/${conversation.id}/items`
  const { body: added } = await call<List>('POST', path, { key, body: { items: [user(content)] } })
  expect(added.data[0]?.content).toEqual(content)
  const { body: listed } = await call<List>('GET', path, { key })
  expect(listed.data[0]?.content).toEqual(content)
  const item = added.data[0]?.id
  expect((await call<Item>('GET', `${path}/${item}`, { key })).body.content).toEqual(content)
  const scripted = model([says('Kept.'), says('Again.')])
  await create(key, { model: scripted.id, conversation: conversation.id, input: 'What was it?' })
  expect(listTexts(scripted.requests[0]!).join('\n')).toContain('kept content')
  const referred = await create(key, { model: scripted.id, input: [{ type: 'item_reference', id: item }, user('So?')] })
  expect(listTexts(scripted.requests[1]!).join('\n')).toContain('kept content')
  expect((await listInput(key, referred.id))[0]?.content).toEqual(content)
})

it('continues with earlier messages whose files are gone', async () => {
  const { key } = await newTenant()
  const scripted = model([says('Read.')])
  const content = [{ type: 'input_file', filename: 'lost.txt', file_id: `file-${'0'.repeat(32)}` }, text('Keep it.')]
  const input = [user(content), { type: 'message', role: 'assistant', content: 'Kept.' }, user('Go on.')]
  const { id } = await create(key, { model: scripted.id, input })
  expect(listTexts(scripted.requests[0]!).join('\n')).toContain('[Attached file: lost.txt]')
  expect((await listInput(key, id))[0]?.content).toEqual(content)
})
