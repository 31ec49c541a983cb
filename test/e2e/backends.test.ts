/** Tests the http backend with a real server and a real sandbox server. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBubblewrap } from '../sandbox/bubblewrap.mjs'
import { type SandboxServer, startSandbox, token } from '../sandbox/server.mjs'
import { createClient } from './support/client.ts'
import { type Server, startServer } from './support/server.ts'

describe.skipIf(!hasBubblewrap)('the http backend behind a session (needs bubblewrap)', () => {
  let sandbox: SandboxServer
  let server: Server
  beforeAll(async () => {
    sandbox = await startSandbox()
    server = await startServer({ env: { SANDBOX_HTTP_URL: sandbox.url, SANDBOX_HTTP_TOKEN: token } })
  })
  afterAll(async () => {
    await server.stop()
    await sandbox.stop()
  })

  it('runs commands, moves files in both directions, and leaves nothing behind', async () => {
    const owner = createClient(server.url, server.key)
    expect((await owner.get('/health/detailed')).json.backends.http).toContain('bubblewrap')
    const session = await owner.newSession()
    const file = (name: string) => `/api/sessions/${session}/files/${name}`
    await owner.send('PUT', file('note.txt'), { raw: 'from here' })
    const use = (backend: string) =>
      owner.send('PATCH', `/api/sessions/${session}`, { body: { settings: { terminal: { backend } } } })
    expect((await use('http')).status).toBe(200)
    const run = await owner.chat(session, 'run: cat note.txt; hostname; echo there > made.txt')
    expect(run.json.output).toContain('from here')
    expect(run.json.output).toContain('sandbox')
    expect((await owner.get(file('made.txt'))).text).toBe('there\n')
    await use('virtual')
    expect((await owner.get(file('made.txt'))).text).toBe('there\n')
    expect((await owner.send('DELETE', `/api/sessions/${session}`)).status).toBeLessThan(300)
  })

  it('rolls back to the files before a turn, except those that a person changed', async () => {
    const owner = createClient(server.url, server.key)
    const session = await owner.newSession({ settings: { terminal: { backend: 'http' } } })
    const file = (name: string) => `/api/sessions/${session}/files/${name}`
    await owner.chat(session, 'run: echo first > a.txt; echo first > b.txt')
    await owner.chat(session, 'run: cat a.txt')
    await owner.chat(session, 'run: echo second > a.txt; rm b.txt; mkdir d; echo new > d/c.txt')
    await owner.send('PUT', file('note.txt'), { raw: 'mine' })
    const { json } = await owner.get(`/api/sessions/${session}/checkpoints`)
    expect(json.data.map(({ n, files }: { n: number; files: string[] }) => [n, files])).toEqual([
      [1, ['a.txt', 'b.txt', 'd/c.txt']],
      [2, ['a.txt', 'b.txt']],
    ])
    const diff = await owner.get(`/api/sessions/${session}/checkpoints/1/diff`)
    expect(diff.json.diff).toContain('-first\n+second\n')
    const back = await owner.send('POST', `/api/sessions/${session}/rollback`, { body: {} })
    expect(back.json).toMatchObject({ restored: ['a.txt', 'b.txt', 'd/c.txt'], kept: ['note.txt'], undone: 1 })
    const texts = await Promise.all(
      ['a.txt', 'b.txt', 'note.txt'].map(async (name) => (await owner.get(file(name))).text),
    )
    expect(texts).toEqual(['first\n', 'first\n', 'mine'])
    expect((await owner.get(file('d/c.txt'))).status).toBe(404)
  })

  it('gives a fork its own copy of the files', async () => {
    const owner = createClient(server.url, server.key)
    const session = await owner.newSession({ settings: { terminal: { backend: 'http' } } })
    await owner.chat(session, 'run: echo first > a.txt')
    const fork = await owner.post(`/api/sessions/${session}/fork`)
    await owner.chat(session, 'run: echo second > a.txt')
    expect((await owner.get(`/api/sessions/${fork.json.id}/files/a.txt`)).text).toBe('first\n')
    expect((await owner.get(`/api/sessions/${session}/files/a.txt`)).text).toBe('second\n')
  })
})
