/** Tests that checkpoints come back with a session that is restored from a backup. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, model, says } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, newSession, request } from './client.ts'
import { send } from './listen.ts'

beforeAll(async () => {
  await applyMigrations()
  await call('PATCH', '/api/settings', { body: { approvals: { mode: 'off' } } })
})

const shell = (command: string) => calls({ name: 'terminal', input: { command } })
const base = '/api/admin/tenants/default/backup'

/** Two turns that change a small and a large file. */
async function filled(): Promise<string> {
  const turns = [
    shell('echo one > a.txt; head -c 700000 /dev/zero | tr "\\0" x > large.txt; ln -s a.txt link'),
    shell('echo two > a.txt; echo y > large.txt; ln -sf large.txt link'),
  ]
  const scripted = model(turns.flatMap((turn, i) => [turn, says(`done ${i + 1}`)]))
  const { id } = await newSession({ model: scripted.id })
  for (let i = 1; i <= turns.length; i++) await send(id, `ask ${i}`)
  return id
}

const text = async (path: string) => (await request('GET', path)).text()
const keysOf = async (id: string) =>
  (await call<{ data: { key: string }[] }>('GET', `${base}/sessions/${id}/kept`)).body.data.map(({ key }) => key)

describe('checkpoints in a backup', () => {
  it('come back with their old contents, and restore files', async () => {
    const id = await filled()
    const listed = (await call('GET', `/api/sessions/${id}/checkpoints`)).body
    const session = await text(`${base}/sessions/${id}`)
    const checkpoints = await text(`${base}/sessions/${id}/checkpoints`)
    const keys = await keysOf(id)
    expect(keys).toHaveLength(1)
    const contents = await Promise.all(
      keys.map(async (key) => {
        const bytes = await request('GET', `${base}/blob?key=${encodeURIComponent(key)}`)
        return [key, new Uint8Array(await bytes.arrayBuffer())] as const
      }),
    )
    expect((await call('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    expect((await bindings.BLOBS?.list({ prefix: `t/default/s/${id}/` }))?.objects).toEqual([])

    expect((await request('PUT', `${base}/sessions/${id}`, { body: session })).status).toBe(204)
    for (const [key, body] of contents)
      expect((await request('PUT', `${base}/blob?key=${encodeURIComponent(key)}`, { body })).status).toBe(204)
    const put = () => request('PUT', `${base}/sessions/${id}/checkpoints`, { body: checkpoints })
    expect((await put()).status).toBe(204)
    expect((await put()).status, 'a repetition').toBe(204)
    expect(await text(`${base}/sessions/${id}/checkpoints`)).toBe(checkpoints)
    expect(await keysOf(id)).toEqual(keys)
    expect((await call('GET', `/api/sessions/${id}/checkpoints`)).body).toEqual(listed)

    expect((await call('POST', `/api/sessions/${id}/rollback`, { body: {} })).body).toMatchObject({ undone: 1 })
    expect(await text(`/api/sessions/${id}/files/a.txt`)).toBe('one\n')
    expect(await text(`/api/sessions/${id}/files/large.txt`)).toBe('x'.repeat(700_000))
    expect(await text(`/api/sessions/${id}/files/link`)).toBe('one\n')
  })

  it('are refused by a session that has made its own, and are absent where there are none', async () => {
    const [one, other] = [await filled(), await filled()]
    const checkpoints = await text(`${base}/sessions/${one}/checkpoints`)
    expect((await request('PUT', `${base}/sessions/${other}/checkpoints`, { body: checkpoints })).status).toBe(409)
    const { id } = await newSession({})
    expect((await request('GET', `${base}/sessions/${id}/checkpoints`)).status).toBe(404)
    expect(await keysOf(id)).toEqual([])
    expect((await request('PUT', `${base}/sessions/nobody/checkpoints`, { body: checkpoints })).status).toBe(404)
  })

  it('take no other table', async () => {
    const id = await filled()
    const body = `${JSON.stringify({ table: 'step', row: { n: 0 } })}\n`
    expect((await request('PUT', `${base}/sessions/${id}/checkpoints`, { body })).status).toBeGreaterThanOrEqual(400)
    expect((await call('GET', `/api/sessions/${id}/messages`)).status).toBe(200)
  })
})
