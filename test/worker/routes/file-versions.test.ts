/** Tests versions, parts, trees and moves of files, and the differences between checkpoints. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, model, says } from '../../support/scripted-model.ts'
import { applyMigrations, call, newSession, request } from '../client.ts'
import { send } from '../listen.ts'

beforeAll(applyMigrations)

type Listing = { readonly data: readonly { readonly path: string }[]; readonly next_cursor: string | null }

async function workspace(files: Readonly<Record<string, string>>) {
  const { id } = await newSession()
  const at = `/api/sessions/${id}/files`
  for (const [path, body] of Object.entries(files)) await request('PUT', `${at}/${path}`, { body })
  const read = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await request('GET', `${at}/${path}`, { headers })
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }
  return { id, at, read }
}

describe('a version of a file', () => {
  it('is replaced only when it is the known one', async () => {
    const { at, read } = await workspace({ 'a.txt': 'one' })
    const etag = (await read('a.txt')).headers.get('etag') ?? ''
    const put = (body: string, headers: Record<string, string>) => request('PUT', `${at}/a.txt`, { body, headers })
    const written = await put('two', { 'if-match': etag })
    expect(written.status).toBe(200)
    const newer = written.headers.get('etag') ?? ''
    expect(newer).not.toBe(etag)
    expect((await read('a.txt')).headers.get('etag')).toBe(newer)
    expect((await put('three', { 'if-match': etag })).status).toBe(412)
    expect((await put('three', { 'if-none-match': '*' })).status).toBe(412)
    expect((await read('a.txt')).text).toBe('two')
    expect((await put('three', { 'if-match': `"x", ${newer}` })).status).toBe(200)
    expect((await request('PUT', `${at}/b.txt`, { body: 'b', headers: { 'if-match': '*' } })).status).toBe(412)
    expect((await request('PUT', `${at}/b.txt`, { body: 'b', headers: { 'if-none-match': '*' } })).status).toBe(201)
  })

  it('has no half of a character in its path, in any request', async () => {
    const { id } = await newSession()
    const at = `/api/sessions/${id}`
    await request('PUT', `${at}/files/a.html`, { body: 'a' })
    for (const [path, body] of [
      ['files/a.html/move', { to: 'b\ud800.html' }],
      ['previews', { path: '\udc00.html' }],
      ['rollback', { path: 'a\ud800' }],
    ] as const)
      expect([path, (await call('POST', `${at}/${path}`, { body })).status]).toEqual([path, 400])
    expect((await call('POST', `${at}/files/a.html/move`, { body: { to: 'ü😀 100%.html' } })).status).toBe(200)
  })

  it('that is known is not sent again', async () => {
    const { read } = await workspace({ 'a.txt': 'one' })
    const { headers } = await read('a.txt')
    const again = await read('a.txt', { 'if-none-match': headers.get('etag') ?? '' })
    expect([again.status, again.text]).toEqual([304, ''])
    expect((await read('a.txt', { 'if-none-match': '"x"' })).status).toBe(200)
  })

  // By its age alone a browser would keep a file of last week for hours.
  it('is asked for again by every browser before it is shown, as all that the API answers', async () => {
    const { id, read } = await workspace({ 'a.txt': 'one' })
    expect((await read('a.txt')).headers.get('cache-control')).toBe('private, no-cache')
    for (const path of [`/api/sessions/${id}`, '/v1/models', '/health', '/api/nothing'])
      expect([path, (await request('GET', path)).headers.get('cache-control')]).toEqual([path, 'private, no-cache'])
    expect((await request('GET', `/api/sessions/${id}/export`)).headers.get('cache-control')).toContain('private')
  })
})

describe('a range of a file', () => {
  it.each([
    ['bytes=0-2', 206, '012', 'bytes 0-2/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-2', 206, '89', 'bytes 8-9/10'],
    ['bytes=5-99', 206, '56789', 'bytes 5-9/10'],
    ['bytes=0-1,3-4', 200, '0123456789', null],
    ['lines=1-2', 200, '0123456789', null],
    ['bytes=-', 200, '0123456789', null],
  ])('%s is answered with %s', async (range, status, text, header) => {
    const { read } = await workspace({ 'a.txt': '0123456789' })
    const answer = await read('a.txt', { range })
    expect([answer.status, answer.text, answer.headers.get('content-range')]).toEqual([status, text, header])
  })

  it('behind its end, and of another version, is not sent', async () => {
    const { read } = await workspace({ 'a.txt': '0123456789' })
    const answer = await read('a.txt', { range: 'bytes=10-' })
    expect([answer.status, answer.headers.get('content-range')]).toEqual([416, 'bytes */10'])
    expect((await read('a.txt', { range: 'bytes=0-1', 'if-range': '"x"' })).text).toBe('0123456789')
  })
})

describe('a tree', () => {
  it('is listed with everything below it', async () => {
    const { at } = await workspace({ 'a.txt': '1', 'b/c.txt': '2', 'b/d/e.txt': '3' })
    const list = async (query: string) =>
      (await call<Listing>('GET', `${at}/${query}`)).body.data.map(({ path }) => path.split('/').slice(-2).join('/'))
    expect((await list('?recursive=1')).map((path) => path.split('/').at(-1))).toEqual([
      'a.txt',
      'b',
      'c.txt',
      'd',
      'e.txt',
    ])
    expect((await list('b?recursive=1')).length).toBe(3)
    expect((await list('')).length).toBe(2)
  })

  it('is moved, and nothing is overwritten', async () => {
    const { id, at, read } = await workspace({ 'a.txt': '1', 'b/c.txt': '2' })
    const move = async (from: string, to: string) => (await call('POST', `${at}/${from}/move`, { body: { to } })).status
    expect(await move('a.txt', 'b/c.txt')).toBe(409)
    expect(await move('a.txt', 'x/ä é.txt')).toBe(200)
    expect((await read(`x/${encodeURIComponent('ä é.txt')}`)).text).toBe('1')
    expect((await read('a.txt')).status).toBe(404)
    expect(await move('b', 'd')).toBe(200)
    expect((await read('d/c.txt')).text).toBe('2')
    expect(await move('none', 'e')).toBe(404)
    for (const to of ['/etc/x', '../x', '.']) expect([to, await move('d', to)]).toEqual([to, 400])
    expect((await request('POST', `/api/sessions/${id}/files/d`, { body: { to: 'e' } })).status).toBe(404)
    expect((await request('POST', '/api/sessions/none/files/d/move', { body: { to: 'e' } })).status).toBe(404)
  })
})

describe('the difference of checkpoints', () => {
  type Diff = { readonly files: { path: string; added: number; removed: number }[]; readonly diff: string }

  it('counts lines, compares two of them, and shows one path', async () => {
    const write = (path: string, content: string) => calls({ name: 'write_file', input: { path, content } })
    const script = [
      write('a.txt', 'one\n'),
      says('1'),
      write('a.txt', 'one\ntwo\n'),
      says('2'),
      write('b/c.txt', 'x\n'),
    ]
    const { id } = await newSession({ model: model([...script, says('3')]).id })
    for (const input of ['a', 'b', 'c']) await send(id, input)
    const diff = async (query: string) => (await call<Diff>('GET', `/api/sessions/${id}/checkpoints/${query}`)).body
    expect((await diff('3/diff')).files).toEqual([
      { path: 'a.txt', added: 2, removed: 0 },
      { path: 'b/c.txt', added: 1, removed: 0 },
    ])
    expect((await diff('3/diff?to=2')).files).toEqual([{ path: 'a.txt', added: 1, removed: 0 }])
    const second = await diff('2/diff?to=1')
    expect(second.files).toEqual([{ path: 'a.txt', added: 1, removed: 0 }])
    expect(second.diff).toContain('+two')
    expect((await diff('3/diff?path=b')).files).toEqual([{ path: 'b/c.txt', added: 1, removed: 0 }])
    const backwards = await diff('1/diff?to=2')
    expect(backwards.files).toEqual([{ path: 'a.txt', added: 0, removed: 1 }])
    expect(backwards.diff).toContain('-two')
    for (const query of ['9/diff', 'unknown/diff', '2/diff?to=9', '2/diff?to=unknown'])
      expect((await call('GET', `/api/sessions/${id}/checkpoints/${query}`)).status).toBe(404)
  })
})
