/** Tests `/v1/files`, and files in messages: they reach the workspace, and the agent is told where they are. */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { lines, pdfWith } from '#test/backends/support/pdf.ts'
import { zip } from '#test/backends/support/zip.ts'
import { SELF } from 'cloudflare:test'
import OpenAI, { toFile } from 'openai'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { vendors } from '#test/support/media-vendors.ts'
import { fails, listTexts, model, says } from '#test/support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newSession, newTenant, request } from '../../client.ts'

beforeAll(applyMigrations)

type FileObject = {
  readonly id: string
  readonly filename: string
  readonly bytes: number
  readonly purpose: string
  readonly created_at: number
  readonly expires_at?: number
}
type Files = { readonly data: readonly FileObject[]; readonly has_more: boolean }

type Fields = Readonly<Record<string, string>>

async function sendUpload<T>(key: string, name: string, text: string, fields: Fields) {
  const form = new FormData()
  form.set('file', new File([text], name))
  for (const [field, value] of Object.entries(fields)) form.set(field, value)
  const encoded = new Response(form)
  return call<T>('POST', '/v1/files', {
    key,
    body: new Uint8Array(await encoded.arrayBuffer()),
    headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
  })
}

async function upload(key: string, name: string, text: string, fields: Fields = {}): Promise<FileObject> {
  const { status, body } = await sendUpload<FileObject>(key, name, text, { purpose: 'user_data', ...fields })
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
    expect([content.headers.get('content-type'), await content.text()]).toEqual(['text/plain', 'text of a.txt'])
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

  it('is listed in both orders and by purpose, and expires', async () => {
    const { key } = await newTenant()
    for (const [name, purpose] of [
      ['a', 'vision'],
      ['b', 'user_data'],
      ['c', 'user_data'],
    ] as const)
      await upload(key, name, name, { purpose })
    const names = async (query: string) =>
      (await call<Files>('GET', `/v1/files?${query}`, { key })).body.data.map(({ filename }) => filename).join('')
    const { data } = (await call<Files>('GET', '/v1/files?order=asc&limit=1', { key })).body
    expect([await names('order=asc'), await names('order=desc'), await names('purpose=vision')]).toEqual([
      'abc',
      'cba',
      'a',
    ])
    expect(await names(`order=asc&after=${data[0]?.id}`)).toBe('bc')
    expect(await names(`order=asc&after=${data[0]?.id}&purpose=user_data`)).toBe('bc')
    const gone = await upload(key, 'gone', 'x')
    await call('DELETE', `/v1/files/${gone.id}`, { key })
    expect(await names(`order=asc&after=${gone.id}`)).toBe('')
    const soon = { 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '3600' }
    const made = await upload(key, 'd', 'd', soon)
    expect(made.expires_at).toBe(made.created_at + 3_600)
    const now = Date.now()
    vi.spyOn(Date, 'now').mockReturnValue(now + 3_601_000)
    expect((await call('GET', `/v1/files/${made.id}`, { key })).status).toBe(404)
    expect(await names('')).toBe('cba')
    vi.restoreAllMocks()
    expect((await call('GET', `/v1/files/${made.id}`, { key })).status).toBe(404)
  })

  it.each([
    [{ purpose: 'fine-tune' }, 'purpose', 'unsupported'],
    [{ purpose: 'batch' }, 'purpose', 'unsupported'],
    [{ 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '10' }, 'expires_after', 'invalid_request'],
    [{ 'expires_after[anchor]': 'now', 'expires_after[seconds]': '3600' }, 'expires_after', 'invalid_request'],
  ])('with %j is refused by its field', async (fields, param, code) => {
    const { key } = await newTenant()
    const { status, body } = await sendUpload<ErrorBody>(key, 'a.txt', 'x', fields)
    expect([status, body.error.param, body.error.code]).toEqual([400, param, code])
  })

  it('works as the official SDK sends it', async () => {
    const { key } = await newTenant()
    const sdk = new OpenAI({
      baseURL: 'https://talaria.test/v1',
      apiKey: key,
      fetch: (url, init) => SELF.fetch(url as string, init as RequestInit<RequestInitCfProperties>),
    })
    const file = new File(['one,two'], 'numbers.csv', { type: 'text/csv' })
    const made = await sdk.files.create({
      file,
      purpose: 'user_data',
      expires_after: { anchor: 'created_at', seconds: 7_200 },
    })
    expect([made.filename, made.bytes, (made.expires_at ?? 0) - made.created_at]).toEqual(['numbers.csv', 7, 7_200])
    await sdk.files.create({ file: await toFile(new Uint8Array([1, 2]), 'b.bin'), purpose: 'assistants' })
    const listed = []
    for await (const one of sdk.files.list({ limit: 1, order: 'asc' })) listed.push(one.filename)
    expect(listed).toEqual(['numbers.csv', 'b.bin'])
    expect((await sdk.files.retrieve(made.id)).id).toBe(made.id)
    expect((await sdk.files.waitForProcessing(made.id)).status).toBe('processed')
    expect(await (await sdk.files.content(made.id)).text()).toBe('one,two')
    expect(await sdk.files.delete(made.id)).toMatchObject({ id: made.id, deleted: true })
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

  const paragraph = (text: string) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`
  const document = () =>
    zip({ 'word/document.xml': `<w:document><w:body>${paragraph('A plan')}</w:body></w:document>` })

  it.each([
    ['text', 'a.txt', () => Promise.resolve(new TextEncoder().encode('Grüße')), 'Grüße'],
    ['code of an unknown type', 'a.xyz', () => Promise.resolve(new TextEncoder().encode('let a = 1')), 'let a = 1'],
    ['a PDF', 'a.pdf', () => pdfWith([lines('Annual report')]), 'Annual report'],
    ['a document', 'a.docx', document, 'A plan'],
  ])('reaches the model with its content, whatever tools the client has: %s', async (_, filename, make, content) => {
    const { key } = await newTenant()
    const scripted = model([says('read'), says('read')])
    const file_data = encodeBase64Bytes(await make())
    const tools = [{ type: 'function', function: { name: 'edit', parameters: { type: 'object' } } }]
    const messages = [{ role: 'user', content: [{ type: 'file', file: { filename, file_data } }] }]
    await call('POST', '/v1/chat/completions', { key, body: { model: scripted.id, tools, messages } })
    const input = [{ role: 'user', content: [{ type: 'input_file', filename, file_data }] }]
    await call('POST', '/v1/responses', { key, body: { model: scripted.id, input } })
    for (const asked of scripted.requests)
      expect(listTexts(asked).join()).toMatch(
        new RegExp(`\\[uploads/\\w+/${filename} contains:\\]\\n[^]*${content}[^]*\\[End of uploads`),
      )
    expect(scripted.requests).toHaveLength(2)
  })

  it('goes as a PDF to a model that takes such files, and as its text where that is refused', async () => {
    const { key } = await newTenant()
    const refuses = fails(400, 'Invalid file data')
    const scripted = model([says('read'), says('again'), refuses, says('by text')], 'gpt-4o-for-pdf')
    const file_data = encodeBase64Bytes(await pdfWith([lines('Annual report')]))
    const part = { type: 'file', file: { filename: 'a.pdf', file_data } }
    const ask = async (session: string | undefined, content: readonly object[]) => {
      const headers = session === undefined ? {} : { 'x-talaria-session-id': session }
      const body = { model: scripted.id, messages: [{ role: 'user', content }] }
      return (await call('POST', '/v1/chat/completions', { key, headers, body })).headers.get('x-talaria-session-id')!
    }
    const session = await ask(undefined, [{ type: 'text', text: 'Sum it up.' }, part])
    await ask(session, [{ type: 'text', text: 'And again.' }])
    await ask(session, [{ type: 'text', text: 'Once more.' }])
    const sent = { filename: 'a.pdf', file_data: `data:application/pdf;base64,${file_data}` }
    const texts = scripted.requestTexts
    expect(texts.map((text) => text.includes(JSON.stringify(sent)))).toEqual([true, true, true, false])
    expect(texts.map((text) => text.includes('Annual report'))).toEqual([false, false, false, true])
    const exported = await request('GET', `/api/sessions/${session}/export`, { key })
    const lost = await exported.text()
    expect(lost).toContain('Annual report')
    expect(lost).not.toContain('blob:')
    const history = await request('GET', `/api/sessions/${session}/messages`, { key })
    expect(await history.text()).not.toContain('blob:')
  })

  it('reaches the model up to a budget, then by name; a note is no part of the budget', async () => {
    const { key } = await newTenant()
    const scripted = model([says('read')])
    const part = (filename: string, text: string) => ({ type: 'file', file: { filename, file_data: btoa(text) } })
    const content = [part('a.txt', 'a'.repeat(70_000)), part('b.txt', 'b'), part('c.bin', '\0\x01\xff')]
    await call('POST', '/v1/chat/completions', {
      key,
      body: { model: scripted.id, messages: [{ role: 'user', content }] },
    })
    const text = listTexts(scripted.requests[0]!).join()
    expect(text).toContain(`${'a'.repeat(60_000)}\n[10000 more characters of uploads/`)
    expect(text).toMatch(/\[The content of uploads\/\w+\/2-b\.txt is left out for its length: 1 characters\.\]/)
    expect(text).toMatch(/3-c\.bin contains:\]\n\(It is binary/)
  })

  const bytesOf = (latin: string) => Uint8Array.from(latin, (char) => char.charCodeAt(0))
  const ftyp = (brand: string) => bytesOf(`\0\0\0\x18ftyp${brand}\0\0\0\0${brand}`)
  const png = bytesOf(
    atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='),
  )
  const notes: readonly (readonly [name: string, bytes: Uint8Array | (() => Promise<Uint8Array>), shown: RegExp])[] = [
    ['empty.txt', new Uint8Array(), /It is empty/],
    ['blank.txt', bytesOf(' \n'), /only white space/],
    ['blank.docx', () => zip({ 'word/document.xml': '<w:document/>' }), /It has no text/],
    ['a.zip', () => zip({ 'one.txt': '1', 'two.txt': '2' }), /2 entries: one\.txt, two\.txt\. .*unzip/],
    ['a.7z', bytesOf('7z\xbc\xaf\x27\x1c\0\x04'), /7z archive, which|a 7z archive\. Ask for it as \.zip/],
    ['a.rar', bytesOf('Rar!\x1a\x07\x01\0'), /a RAR archive\. Ask/],
    ['a.tgz', bytesOf('\x1f\x8b\x08\0'), /tar -xzf/],
    ['a.heic', ftyp('heic'), /a picture of the type image\/heic.*PNG or JPEG/],
    ['a.bmp', bytesOf('BM\0\0'), /binary|image\/bmp/],
    ['a.svg', bytesOf('<svg><text>tide</text></svg>'), /<text>tide<\/text>/],
    ['photo.txt', png, /\(image\/png\)/],
    ['plan.bin', () => officeWith('A plan'), /plan\.bin contains:\]\nA plan/],
    ['plan.pdf', () => officeWith('B plan'), /plan\.pdf contains:\]\nB plan/],
    ['report', () => pdfWith([lines('Annual report')]), /Annual report/],
    [
      'sjis.txt',
      bytesOf(atob('jWCCzJKqjqyVXILNlceCyYKggumBQpa+k/qCzInvi2OCzY9cjp6CqYLnjm6C3ILogtyCt4FC')),
      /Shift_JIS\.\)\n港の潮汐表/,
    ],
  ]
  const officeWith = (text: string) =>
    zip({
      '[Content_Types].xml': '<Types/>',
      'word/document.xml': `<w:document><w:body><w:p><w:r><w:t>${text}</w:t></w:r></w:p></w:body></w:document>`,
    })

  it('of any kind is content, or a note that says why there is none', async () => {
    const { key } = await newTenant()
    const scripted = model([says('read')])
    const made = await Promise.all(
      notes.map(async ([filename, bytes]) => ({
        type: 'file',
        file: { filename, file_data: encodeBase64Bytes(typeof bytes === 'function' ? await bytes() : bytes) },
      })),
    )
    const sent = await call('POST', '/v1/chat/completions', {
      key,
      body: { model: scripted.id, messages: [{ role: 'user', content: made }] },
    })
    expect(sent.status).toBe(200)
    const text = listTexts(scripted.requests[0]!).join().replaceAll('\\n', '\n')
    for (const [name, , shown] of notes) expect(text, name).toMatch(shown)
    expect(scripted.requestTexts[0]).toContain('data:image/png;base64,iVBOR')
  })

  it('that is an image is listed as it was sent', async () => {
    const { key } = await newTenant()
    const content = [{ type: 'input_file', filename: 'p.png', file_data: encodeBase64Bytes(png) }]
    const scripted = model([says('seen')])
    const { body } = await call<{ id: string }>('POST', '/v1/responses', {
      key,
      body: { model: scripted.id, input: [{ role: 'user', content }] },
    })
    const listed = await call<{ data: { content: unknown }[] }>('GET', `/v1/responses/${body.id}/input_items`, { key })
    expect(listed.body.data[0]?.content).toEqual(content)
    expect(scripted.requestTexts[0]).toContain('data:image/png;base64,iVBOR')
    expect(scripted.requestTexts[0]).not.toContain('"sent"')
  })

  it('says that a recording cannot be transcribed where nobody does', async () => {
    vendors.begin(() => Response.json({ error: { message: 'no transcriber' } }, { status: 404 }))
    const { key } = await newTenant()
    const scripted = model([says('ok')])
    const content = [{ type: 'input_audio', input_audio: { data: btoa('sound'), format: 'wav' } }]
    await call('POST', '/v1/chat/completions', {
      key,
      body: { model: scripted.id, messages: [{ role: 'user', content }] },
    })
    expect(listTexts(scripted.requests[0]!).join()).toMatch(
      /audio\.wav contains:\]\n\(It is a recording\. What is said in it could/,
    )
  })

  it('can be read also by an agent whose client brings tools of its own', async () => {
    const { key } = await newTenant()
    const scripted = model([says('read'), says('ok')])
    const tools = [{ type: 'function', function: { name: 'edit', parameters: { type: 'object' } } }]
    const ask = (content: unknown) =>
      call('POST', '/v1/chat/completions', {
        key,
        body: { model: scripted.id, tools, messages: [{ role: 'user', content }] },
      })
    expect((await ask([{ type: 'file', file: { filename: 'a.txt', file_data: data } }])).status).toBe(200)
    expect((await ask('Without a file.')).status).toBe(200)
    const offered = scripted.requests.map((one) => one.tools?.map((tool) => tool.function.name) ?? [])
    expect(offered.map((names) => ['edit', 'read_file', 'write_file'].filter((name) => names.includes(name)))).toEqual([
      ['edit', 'read_file'],
      ['edit'],
    ])
  })

  it('by an address is fetched through the guard', async () => {
    const { key } = await newTenant()
    const outside = globalThis.fetch
    const fetched: string[] = []
    globalThis.fetch = async (input, init) => {
      const url = input instanceof Request ? input.url : String(input)
      if (!url.startsWith('https://files.example.com/')) return outside(input, init)
      fetched.push(url)
      return url.endsWith('missing.txt')
        ? new Response('no', { status: 404 })
        : new Response('from afar', { headers: { 'content-type': 'text/plain; charset=utf-8' } })
    }
    const scripted = model([says('read')])
    const ask = (url: string) =>
      call<ErrorBody>('POST', '/v1/responses', {
        key,
        body: {
          model: scripted.id,
          input: [{ role: 'user', content: [{ type: 'input_file', file_url: url }] }],
        },
      })
    const { status, headers } = await ask('https://files.example.com/a/r%C3%A9sum%C3%A9.txt?x=1')
    expect([status, fetched.length]).toEqual([200, 1])
    const [, file] =
      /\[Attached file: (uploads\/\w+\/résumé\.txt) \(text\/plain\)\]/.exec(
        listTexts(scripted.requests[0]!).join('\n'),
      ) ?? []
    const session = headers.get('x-talaria-session-id')
    expect(await (await request('GET', `/api/sessions/${session}/files/${file}`, { key })).text()).toBe('from afar')
    const bad = [
      ['https://files.example.com/missing.txt', 'invalid_request'],
      ['http://127.0.0.1/secret', 'blocked_url'],
      ['http://metadata.google.internal/', 'blocked_url'],
      ['ftp://files.example.com/a', 'invalid_request'],
    ] as const
    for (const [url, code] of bad) {
      const answer = await ask(url)
      expect([url, answer.status, answer.body.error.code]).toEqual([url, 400, code])
    }
    globalThis.fetch = outside
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
