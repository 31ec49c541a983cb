/** Tests `/v1/files`, and files in messages: they reach the workspace, and the agent is told where they are. */

import { beforeAll, describe, expect, it } from 'vitest'
import { listTexts, model, says } from '../../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newSession, newTenant, request } from '../client.ts'

beforeAll(applyMigrations)

type FileObject = { readonly id: string; readonly filename: string; readonly bytes: number; readonly purpose: string }
type Files = { readonly data: readonly FileObject[]; readonly has_more: boolean }

async function upload(key: string, name: string, text: string): Promise<FileObject> {
  const form = new FormData()
  form.set('file', new File([text], name))
  form.set('purpose', 'user_data')
  const encoded = new Response(form)
  const { status, body } = await call<FileObject>('POST', '/v1/files', {
    key,
    body: new Uint8Array(await encoded.arrayBuffer()),
    headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
  })
  expect(status).toBe(200)
  return body
}

describe('an upload', () => {
  it('is listed newest first in pages, read and deleted', async () => {
    const { key } = await newTenant()
    const made = []
    for (const name of ['a.txt', 'b.txt', 'größe.pdf']) made.push(await upload(key, name, `text of ${name}`))
    expect(made.at(-1)).toMatchObject({ object: 'file', filename: 'größe.pdf', purpose: 'user_data' })
    const first = (await call<Files>('GET', '/v1/files?limit=2', { key })).body
    expect(new Set(first.data.map(({ id }) => id)).size).toBe(2)
    const rest = (await call<Files>('GET', `/v1/files?after=${first.data.at(-1)?.id}`, { key })).body
    expect([first.has_more, rest.has_more, rest.data.length]).toEqual([true, false, 1])
    const [one] = made
    const content = await request('GET', `/v1/files/${one?.id}/content`, { key })
    expect([content.headers.get('content-type'), await content.text()]).toEqual([
      'application/octet-stream',
      'text of a.txt',
    ])
    expect((await call('DELETE', `/v1/files/${one?.id}`, { key })).body).toMatchObject({ deleted: true })
    expect((await call('GET', `/v1/files/${one?.id}`, { key })).status).toBe(404)
  })

  it('of another tenant is as unknown as any other', async () => {
    const [one, two] = [await newTenant(), await newTenant()]
    const { id } = await upload(one.key, 'secret.txt', 'x')
    const unknown = id.replace(/.{20}$/, '0'.repeat(20))
    for (const path of ['', '/content'])
      for (const bad of [id, unknown, 'x', '../x']) {
        const answer = await call<ErrorBody>('GET', `/v1/files/${encodeURIComponent(bad)}${path}`, { key: two.key })
        expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found'])
      }
    expect((await call<Files>('GET', '/v1/files', { key: two.key })).body.data).toEqual([])
    const used = await call<ErrorBody>('POST', '/v1/responses', {
      key: two.key,
      body: { input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }] },
    })
    expect(used.status).toBe(404)
  })

  it('needs multipart/form-data with a file', async () => {
    const { key } = await newTenant()
    const bad = [{ body: 'x' }, { body: 'x', headers: { 'content-type': 'multipart/form-data; boundary=a' } }]
    for (const options of bad) expect((await call('POST', '/v1/files', { key, ...options })).status).toBe(400)
  })
})

describe('a file in a message', () => {
  const data = `data:text/plain;base64,${btoa('hello file')}`

  it.each([
    [
      'a completion',
      '/v1/chat/completions',
      (part: object) => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'see' }, part] }] }),
      { type: 'file', file: { filename: 'note.txt', file_data: data } },
    ],
    [
      'a response',
      '/v1/responses',
      (part: object) => ({ input: [{ role: 'user', content: [{ type: 'input_text', text: 'see' }, part] }] }),
      { type: 'input_file', filename: 'note.txt', file_data: data },
    ],
  ])('of %s is in the workspace before the model is asked', async (_, path, bodyWith, part) => {
    const { key } = await newTenant()
    const scripted = model([says('read')])
    const { status, headers } = await call('POST', path, { key, body: { model: scripted.id, ...bodyWith(part) } })
    expect(status).toBe(200)
    const text = listTexts(scripted.requests[0]!).join('\n')
    const [, file] = /\[Attached file: (uploads\/\w+\/note\.txt) \(text\/plain\)\]/.exec(text) ?? []
    const session = headers.get('x-talaria-session-id')
    expect(await (await request('GET', `/api/sessions/${session}/files/${file}`, { key })).text()).toBe('hello file')
  })

  it('may be an upload, audio, or an attachment of a session, alone or several', async () => {
    const { key } = await newTenant()
    const { id } = await upload(key, 'report.csv', 'a,b')
    const scripted = model([says('ok')])
    const session = await newSession({ model: scripted.id }, key)
    const sent = await call('POST', `/api/sessions/${session.id}/chat`, {
      key,
      body: {
        input: [{ type: 'input_audio', input_audio: { data: btoa('sound'), format: 'wav' } }],
        attachments: [
          { type: 'file', file_id: id },
          { type: 'file', name: '../../evil\u202E.sh', data: btoa('x') },
        ],
      },
    })
    expect(sent.status).toBe(200)
    const text = listTexts(scripted.requests[0]!).join('\n')
    const paths = [...text.matchAll(/Attached file: (\S+) \(/g)].map(([, path]) => path ?? '')
    expect(paths.map((path) => path.slice(path.lastIndexOf('/') + 1))).toEqual([
      'audio.wav',
      '2-report.csv',
      '3-_.._evil_.sh',
    ])
    const read = async (path = '') =>
      (await request('GET', `/api/sessions/${session.id}/files/${path}`, { key })).text()
    expect(await Promise.all(paths.map(read))).toEqual(['sound', 'a,b', 'x'])
  })

  it('that is no base64, or too many files, is refused with its field', async () => {
    const { key } = await newTenant()
    const ask = (content: readonly object[]) =>
      call<ErrorBody>('POST', '/v1/chat/completions', { key, body: { messages: [{ role: 'user', content }] } })
    const part = (file: object) => ({ type: 'file', file })
    for (const content of [
      [part({})],
      [part({ file_data: '!!' })],
      Array.from({ length: 21 }, () => part({ file_data: data })),
    ]) {
      const { status, body } = await ask(content)
      expect([status, body.error.param]).toEqual([400, 'messages'])
    }
  })
})
