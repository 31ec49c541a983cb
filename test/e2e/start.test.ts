/** Tests `npm start`: ports, signals, state folders and the protection of keys. */

import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { startModelServer } from '../support/model-server/server.ts'
import { createClient } from './support/client.ts'
import { adminKey, deleteState, newState, type Server, startServer } from './support/server.ts'

// Servers are started one after the other.
describe('npm start', { timeout: 180_000 }, () => {
  const started: Server[] = []
  afterEach(async () => {
    for (const server of started.splice(0)) {
      await server.kill()
      deleteState(server.state)
    }
  })
  const start = async (options: Parameters<typeof startServer>[0] = {}) => {
    const server = await startServer(options)
    started.push(server)
    return server
  }

  it('serves two folders on two ports at once, stops everything on SIGTERM, and finds its state again', async () => {
    const [first, other] = await Promise.all([start(), start()])
    const session = await createClient(first.url, first.key).newSession({ title: 'Kept' })
    expect((await createClient(first.url, first.key).get(`/api/sessions/${session}`)).status).toBe(200)
    expect((await createClient(other.url, other.key).get(`/api/sessions/${session}`)).status).toBe(404)
    await first.stop()
    await expect(fetch(`${first.url}/health`)).rejects.toThrow('fetch failed')
    const second = await start({ state: first.state })
    expect((await createClient(second.url, second.key).get(`/api/sessions/${session}`)).json.title).toBe('Kept')
  })

  it('reports an occupied port', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const state = newState()
    await expect(startServer({ port, state })).rejects.toThrow(`Port ${port} is in use`)
    other.close()
    deleteState(state)
  })

  it('says which model answers and why, prints a request that works, and keeps settings to itself', async () => {
    const server = await start({ env: { ADMIN_KEY: adminKey } })
    expect(server.log()).toContain('model: demo/agent (a stand-in made of rules, because no provider is set up')
    const address = server.url.replace('127.0.0.1', 'localhost')
    expect(server.log()).toContain(`docs: ${address}/docs/, API reference: ${address}/docs`)
    const [, command = ''] = /^try: (.*)$/m.exec(server.log()) ?? []
    const env = { ...process.env, ADMIN_KEY: adminKey }
    expect(
      JSON.parse(execFileSync('sh', ['-c', command], { encoding: 'utf8', env })).choices[0].message.content,
    ).toContain('hello')
    const owner = createClient(server.url, server.key)
    expect((await owner.send('PATCH', '/api/settings', { body: { model: { default: 'openai/x' } } })).status).toBe(200)
    await server.stop()
    const settings = { OPENAI_API_KEY: 'sk-$ecret "quoted"', UNRELATED_SECRET: 'nobody-needs-this' }
    const again = await start({ state: server.state, env: settings })
    expect(again.log()).toContain('model: openai/x (from model.default of the settings)')
    // Settings of the environment stay out of arguments, files and other processes.
    const list = execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8', maxBuffer: 64 << 20 })
    expect(list).not.toContain('sk-$ecret')
    expect(list).not.toContain(adminKey)
    const found = spawnSync('grep', ['-rlsF', 'sk-$ecret', again.state, '.dev.vars'], { encoding: 'utf8' })
    expect(found.stdout).toBe('')
    expect((await createClient(again.url, again.key).get('/health/detailed')).json.providers.openai).toBe('usable')
  })

  it.each([
    [{ MODEL: 'gpt-5.4' }, 'write it as provider/model, for example openai/gpt-5.4'],
    [{ MODEL: 'openai/gpt-5.4' }, 'set OPENAI_API_KEY'],
    [{ MODEL: 'nobody/model' }, 'there is no provider "nobody"'],
    [{ CUSTOM_BASE_URL: 'http://127.0.0.1:9/v1' }, 'set MODEL=custom/NAME'],
  ])('does not start with %j, and says what to set', async (env, hint) => {
    const state = newState()
    await expect(startServer({ state, env })).rejects.toThrow(hint)
    deleteState(state)
  })

  it('refuses a key that is too short', async () => {
    const state = newState()
    await expect(startServer({ state, env: { ADMIN_KEY: 'short' } })).rejects.toThrow('at least 16 characters')
    deleteState(state)
  })

  it('keeps the key of a tenant after a kill, and no file contains it', async () => {
    const model = await startModelServer()
    model.reset({ bodies: true })
    const env = { OPENAI_BASE_URL: model.url }
    const key = 'tenant-key-that-no-file-has'
    const first = await start({ env })
    const owner = createClient(first.url, first.key)
    const stored = await owner.post('/api/credentials', { provider: 'openai', key })
    expect([stored.status, stored.json.last_four]).toEqual([201, '-has'])
    const session = await owner.newSession({ model: 'openai/bench' })
    expect((await owner.chat(session, '[[say before]]')).json.output).toBe('before')
    await first.kill()
    const filesWith = (text: string) => spawnSync('grep', ['-rlaF', text, first.state], { encoding: 'utf8' }).stdout
    expect(filesWith('"sealed":"v2.')).not.toBe('')
    expect(filesWith(key)).toBe('')
    const second = await start({ env, state: first.state })
    expect((await createClient(second.url, second.key).chat(session, '[[say after]]')).json.output).toBe('after')
    const bearers = model.journal().map(({ headers }) => (headers as Record<string, string>)['authorization'])
    expect(bearers).toEqual([`Bearer ${key}`, `Bearer ${key}`])
    await model.close()
  })
})
