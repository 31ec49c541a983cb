/** Tests a deployment without provider keys, which uses the demo model. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, eventually } from './support/client.ts'
import { deleteState, newState, type Server, startServer } from './support/server.ts'

describe('a deployment without any key of a provider', () => {
  const state = newState()
  let server: Server
  let client: Client
  let session: string
  beforeAll(async () => {
    server = await startServer({ state })
    client = createClient(server.url, server.key)
    session = await client.newSession()
  })
  afterAll(async () => {
    await server.stop()
    deleteState(state)
  })
  const say = async (input: string): Promise<string> => (await client.chat(session, input)).json.output

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
})
