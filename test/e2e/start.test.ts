/** Tests `npm start`: ports, signals, state folders, keys that stay out of sight, and the demo model without any provider. */

import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { startModelServer } from '../support/model-server/server.ts'
import { type Client, createClient, eventually } from './support/client.ts'
import { owner } from './support/here.ts'
import { adminKey, deleteState, emptyState, newState, type Server, startServer } from './support/server.ts'

// Each test goes on where the one before it ended, because starts take most of the time.
describe('npm start', { timeout: 180_000 }, () => {
  const started: Server[] = []
  let [server, client]: [Server, Client] = [] as never
  let session: string
  let model: Awaited<ReturnType<typeof startModelServer>>
  const withKey = () => ({ OPENAI_API_KEY: 'sk-$ecret "quoted"', OPENAI_BASE_URL: model.url })
  const start = async (options: Parameters<typeof startServer>[0] = {}) => {
    const one = await startServer(options)
    started.push(one)
    return one
  }
  beforeAll(async () => {
    ;[server, model] = await Promise.all([start({ state: emptyState() }), startModelServer()])
    client = createClient(server.url, server.key)
    session = await client.newSession({ title: 'Kept' })
  }, 180_000)
  afterAll(async () => {
    for (const one of started) {
      await one.kill()
      deleteState(one.state)
    }
    await model.close()
  })
  const say = async (input: string): Promise<string> => (await client.chat(session, input)).json.output

  it('serves two folders on two ports at once', async () => {
    expect((await client.get(`/api/sessions/${session}`)).status).toBe(200)
    expect((await owner.get(`/api/sessions/${session}`)).status).toBe(404)
  })

  it('prints neither the key nor anything else that is secret', () => {
    expect(server.log()).toContain(`Talaria is ready on http://localhost:${new URL(server.url).port}`)
    expect(server.log()).not.toContain(server.key)
  })

  it('answers with demo/agent, which says what it is', async () => {
    expect((await client.get('/health/detailed')).json.model).toBe('demo/agent')
    expect(await say('good day')).toMatch(/good day[\s\S]*not a language model/)
  })

  it('writes and reads files', async () => {
    expect(await say('write notes.txt: buy milk')).toContain('write_file')
    expect(await say('read notes.txt')).toContain('buy milk')
    expect((await client.get(`/api/sessions/${session}/files/notes.txt`)).text).toContain('buy milk')
  })

  it('runs commands', async () => {
    expect(await say('run: echo $((6 * 7))')).toContain('42')
    expect(await say('run: cat notes.txt | wc -w')).toContain('2')
  })

  it('asks, waits, and takes the answer', async () => {
    const run = client.chat(session, 'ask: Which colour?')
    const [question] = await eventually(
      async () => (await client.get('/api/questions')).json.data,
      (open) => open.length === 1,
    )
    expect(question).toMatchObject({ session_id: session, question: 'Which colour?' })
    expect((await client.post(`/api/questions/${question.id}`, { answer: 'green' })).status).toBe(200)
    expect((await run).json.output).toContain('green')
    expect((await client.get('/api/questions')).json.data).toEqual([])
    expect((await client.post(`/api/questions/${question.id}`, { answer: 'red' })).status).toBe(409)
  })

  it('serves the OpenAI route', async () => {
    const body = { model: 'talaria', messages: [{ role: 'user', content: 'run: echo hello' }] }
    const { json } = await client.post('/v1/chat/completions', body)
    expect(json.choices[0].message.content).toContain('hello')
  })

  it('says which model answers and why, and prints a request that works', () => {
    expect(server.log()).toContain('model: demo/agent (a stand-in made of rules, because no provider is set up')
    const address = server.url.replace('127.0.0.1', 'localhost')
    expect(server.log()).toContain(`docs: ${address}/docs/, API reference: ${address}/docs`)
    const [, command = ''] = /^try: (.*)$/m.exec(server.log()) ?? []
    const env = { ...process.env, ADMIN_KEY: adminKey }
    expect(
      JSON.parse(execFileSync('sh', ['-c', command], { encoding: 'utf8', env })).choices[0].message.content,
    ).toContain('hello')
  })

  it('stops everything on SIGTERM, finds its state again, and keeps settings to itself', async () => {
    expect((await client.send('PATCH', '/api/settings', { body: { model: { default: 'openai/x' } } })).status).toBe(200)
    await server.stop()
    await expect(fetch(`${server.url}/health`)).rejects.toThrow('fetch failed')
    server = await start({ state: server.state, env: { ...withKey(), UNRELATED_SECRET: 'nobody-needs-this' } })
    client = createClient(server.url, server.key)
    expect(server.log()).toContain('model: openai/x (from model.default of the settings)')
    expect((await client.get(`/api/sessions/${session}`)).json.title).toBe('Kept')
    // Settings of the environment stay out of arguments, files and other processes.
    const list = execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8', maxBuffer: 64 << 20 })
    expect(list).not.toContain('sk-$ecret')
    expect(list).not.toContain(adminKey)
    const found = spawnSync('grep', ['-rlsF', 'sk-$ecret', server.state, '.dev.vars'], { encoding: 'utf8' })
    expect(found.stdout).toBe('')
    expect((await client.get('/health/detailed')).json.providers.openai).toBe('usable')
  })

  itInTurn('reports an occupied port', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const state = newState()
    await expect(startServer({ port, state })).rejects.toThrow(`Port ${port} is in use`)
    other.close()
    deleteState(state)
  })

  itInTurn.each([
    [{ MODEL: 'gpt-5.4' }, 'write it as provider/model, for example openai/gpt-5.4'],
    [{ MODEL: 'openai/gpt-5.4' }, 'set OPENAI_API_KEY'],
    [{ MODEL: 'nobody/model' }, 'there is no provider "nobody"'],
    [{ CUSTOM_BASE_URL: 'http://127.0.0.1:9/v1' }, 'set MODEL=custom/NAME'],
  ])('does not start with %j, and says what to set', async (env, hint) => {
    const state = newState()
    await expect(startServer({ state, env })).rejects.toThrow(hint)
    deleteState(state)
  })

  itInTurn('refuses a key that is too short', async () => {
    const state = newState()
    await expect(startServer({ state, env: { ADMIN_KEY: 'short' } })).rejects.toThrow('at least 16 characters')
    deleteState(state)
  })
})
