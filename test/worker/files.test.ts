/** Tests which file paths of the API belong to a workspace, and which name all of it. */

import { beforeAll, describe, expect, it } from 'vitest'
import { model, says } from '../support/scripted-model.ts'
import { call, applyMigrations, newSession, type ErrorBody, request } from './client.ts'

beforeAll(applyMigrations)

type Listing = { readonly data: readonly { readonly path: string; readonly name: string }[] }

/** A session with one file that has to stay. */
async function kept() {
  const { id } = await newSession()
  const at = `/api/sessions/${id}/files`
  expect((await request('PUT', `${at}/kept.txt`, { body: 'kept' })).status).toBe(201)
  const names = async () => (await call<Listing>('GET', `${at}/`)).body.data.map(({ name }) => name)
  return { id, at, names }
}

describe('a path of a file', () => {
  it.each(['%2Fetc%2Fpasswd', '/proc/self/environ', '/', '%2F', '/tmp', '/workspaces/a', 'a/..%2F..%2Ftmp'])(
    'that is not in the workspace is refused, whatever is to be done: %s',
    async (path) => {
      const { at, names } = await kept()
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const answer = await call<ErrorBody>(method, `${at}/${path}`, method === 'PUT' ? { body: 'x' } : {})
        expect([method, answer.status, answer.body?.error?.param]).toEqual([method, 400, 'path'])
      }
      expect(await names()).toEqual(['kept.txt'])
    },
  )

  it('may be an absolute path from a listing', async () => {
    const { at } = await kept()
    const [shown] = (await call<Listing>('GET', `${at}/`)).body.data
    expect(await (await request('GET', `${at}/${shown?.path}`)).text()).toBe('kept')
  })

  it.each(['', '/', '/.', '/%2e', '/.%2F', '/.%2F.', '/~', '//workspace'])(
    'that is the whole workspace is listed, and not deleted: files%s',
    async (path) => {
      const { at, names } = await kept()
      const refused = await call<ErrorBody>('DELETE', at + path)
      expect([refused.status, refused.body?.error?.param]).toEqual([400, 'path'])
      expect(await names()).toEqual(['kept.txt'])
      expect((await call<Listing>('GET', at + path)).body.data.map(({ name }) => name)).toEqual(['kept.txt'])
    },
  )

  it('works in a session with the id files', async () => {
    const body = { model: model([says('Hello.')]).id, conversation: 'files', input: 'hi' }
    expect((await request('POST', '/v1/responses', { body })).status).toBe(200)
    const put = await call<{ path: string }>('PUT', '/api/sessions/files/files/a/files/b.txt', { body: 'x' })
    expect([put.status, put.body.path]).toEqual([201, '/workspace/a/files/b.txt'])
    const { body: listed } = await call<Listing>('GET', '/api/sessions/files/files/')
    expect(listed.data.map(({ name }) => name)).toEqual(['a'])
  })

  it('works when files/ is percent-encoded', async () => {
    const { id, names } = await kept()
    await request('PUT', `/api/sessions/${id}/%66iles/other.txt`, { body: 'x' })
    expect(await names()).toEqual(['kept.txt', 'other.txt'])
    expect((await request('DELETE', `/api/sessions/${id}/%66iles/other.txt`)).status).toBe(204)
    expect(await names()).toEqual(['kept.txt'])
  })
})
