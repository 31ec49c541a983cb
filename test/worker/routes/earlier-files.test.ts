/** Tests earlier versions of files, the text of documents, and links that show a page. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, model, says } from '../../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newSession, request } from '../client.ts'

beforeAll(applyMigrations)

/** A session in which two turns have written a page. */
async function newPage() {
  const write = (content: string) => calls({ name: 'write_file', input: { path: 'site/a.html', content } })
  const scripted = model([write('<p>one'), says('done'), write('<p>two'), says('done')])
  const { id } = await newSession({ model: scripted.id })
  const at = `/api/sessions/${id}`
  for (const input of ['begin', 'change']) await call('POST', `${at}/chat`, { body: { input } })
  return at
}

describe('an earlier version of a file', () => {
  it('is the file before the turn of a checkpoint', async () => {
    const at = await newPage()
    const read = async (query: string, path = 'site/a.html') => {
      const answer = await request('GET', `${at}/files/${path}${query}`)
      return [answer.status, answer.status === 200 ? await answer.text() : '']
    }
    expect(await read('')).toEqual([200, '<p>two'])
    expect(await read('?checkpoint=1')).toEqual([200, '<p>one'])
    expect(await read('?checkpoint=2')).toEqual([404, ''])
    expect(await read('?checkpoint=3')).toEqual([404, ''])
    expect(await read('?checkpoint=0')).toEqual([400, ''])
    await request('PUT', `${at}/files/b.txt`, { body: 'since' })
    expect(await read('?checkpoint=1', 'b.txt')).toEqual([404, ''])
    expect(await read('?checkpoint=1', '..%2Fx')).toEqual([400, ''])
  })
})

describe('a link to a page', () => {
  const open = async (at: string, body: object, headers: Record<string, string> = {}) => {
    const { status, body: json } = await call<{ url: string }>('POST', `${at}/previews`, {
      body: { path: 'site/a.html', ...body },
    })
    if (status !== 200) return { status }
    const answer = await request('GET', json.url, { headers, key: '' })
    return { status: answer.status, text: await answer.text(), policy: answer.headers.get('content-security-policy') }
  }

  it('runs no script, and shows the version that is asked for', async () => {
    const at = await newPage()
    expect(await open(at, {})).toMatchObject({
      status: 200,
      text: '<p>two',
      policy: expect.stringMatching(/^sandbox; /),
    })
    expect(await open(at, { checkpoint: 1 })).toMatchObject({ status: 200, text: '<p>one' })
    expect((await open(at, { checkpoint: 2 })).status).toBe(404)
    expect((await open(at, { checkpoint: 9 })).status).toBe(404)
  })

  it('runs scripts in a frame alone, without a network', async () => {
    const at = await newPage()
    const { status, policy } = await open(at, { scripts: true }, { 'sec-fetch-dest': 'iframe' })
    expect(status).toBe(200)
    expect(policy).toContain("sandbox allow-scripts allow-forms; default-src 'none'; script-src 'unsafe-inline'")
    expect(policy).not.toMatch(/allow-same-origin|connect-src|https?:/)
    for (const dest of ['document', 'empty'])
      expect((await open(at, { scripts: true }, { 'sec-fetch-dest': dest })).status).toBe(404)
    expect((await open(at, { scripts: true })).status).toBe(404)
  })
})

describe('the text of a document', () => {
  it('is read, and a file that is none is refused', async () => {
    const { id } = await newSession()
    const at = `/api/sessions/${id}/files`
    const cell = { cell_type: 'markdown', metadata: {}, source: ['# Hello'] }
    await request('PUT', `${at}/a.ipynb`, {
      body: JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [cell] }),
    })
    await request('PUT', `${at}/a.docx`, { body: 'no archive' })
    await request('PUT', `${at}/a.txt`, { body: 'text' })
    const text = async (path: string) => {
      const { status, body } = await call<{ text?: string } & Partial<ErrorBody>>('GET', `${at}/${path}?format=text`)
      return [status, body.text ?? body.error?.param]
    }
    expect(await text('a.ipynb')).toEqual([200, expect.stringContaining('# Hello')])
    expect(await text('a.docx')).toEqual([400, 'format'])
    expect(await text('a.txt')).toEqual([400, 'format'])
    expect((await text('gone.pdf'))[0]).toBe(404)
  })
})
