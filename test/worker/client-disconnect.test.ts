/** Tests what happens to a run when the client that waits for it goes away. */

import { SELF } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { calls, Gate, hangs, model, says, until } from '../support/scripted-model.ts'
import { newRunId } from '#durable/platform/ids.ts'
import { inObject, objectOf, requestCommand } from '../durable/support/object.ts'
import { ownerAuthority } from '../support/authority.ts'
import { adminKey, applyMigrations, call, newSession } from './client.ts'
import { listLines, type Run } from './listen.ts'

beforeAll(applyMigrations)

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  SELF.fetch(`https://talaria.test${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, ...headers },
    body: JSON.stringify(body),
  })
const ask = (content: string) => [{ role: 'user', content }]
const runOf = (response: Response) => {
  const id = response.headers.get('x-talaria-run-id')
  return async () => (await call<Run>('GET', `/v1/runs/${id}`)).body
}
const sessionOf = (response: Response) => response.headers.get('x-talaria-session-id') ?? ''
const sleeping = { name: 'terminal', input: { command: 'sleep 20' } }
const writing = { name: 'write_file', input: { path: 'after.txt', content: 'no' } }
/** The id of the run that is queued in the session. */
const queuedRunOf = (sessionId: string) =>
  inObject(sessionId, (_object, { storage }) => {
    const [table] = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'inbox'").toArray()
    const [row] = table ? storage.sql.exec<{ body: string }>('SELECT body FROM inbox').toArray() : []
    return row && (JSON.parse(row.body) as { runId: string }).runId
  })
const ended = async (read: () => Promise<Run>) => until(async () => ((await read()).exit_reason ? read() : undefined))

/** Reads a stream up to the first text, and returns what closes it. */
async function readBeginning(response: Response): Promise<() => Promise<void>> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  for (let text = ''; !text.includes('Half');) text += decoder.decode((await reader.read()).value, { stream: true })
  return () => reader.cancel()
}

const bodyOf = (path: string, id: string, more: object = {}) => ({
  model: id,
  ...(path.endsWith('completions') ? { messages: ask('go') } : { input: 'go' }),
  ...more,
})
const routes = ['/v1/chat/completions', '/v1/responses']

describe('a client that goes away', () => {
  it.each(routes)('stops the run of its stream, and the text so far is kept: %s', async (path) => {
    const gate = new Gate()
    const scripted = model([says('Half of ', gate, 'it')])
    const response = await post(path, bodyOf(path, scripted.id, { stream: true }))
    const close = await readBeginning(response)
    const read = runOf(response)
    await close()
    expect(await ended(read)).toMatchObject({ status: 'cancelled', exit_reason: 'stopped', output: 'Half of ' })
    expect(await listLines(sessionOf(response))).toEqual(['user: go', 'assistant: Half of '])
    expect(scripted.requests).toHaveLength(1)
  })

  it('lets no further tool begin', async () => {
    const scripted = model([
      [...(says('Half') as readonly string[]).slice(0, 1), ...(calls(sleeping, writing) as readonly string[])],
      says('never'),
    ])
    const path = '/v1/chat/completions'
    const response = await post(path, bodyOf(path, scripted.id, { stream: true }))
    const close = await readBeginning(response)
    const read = runOf(response)
    await until(async () => (await read())['activity'] && JSON.stringify(await read()).includes('running terminal'))
    await close()
    expect(await ended(read)).toMatchObject({ status: 'cancelled' })
    expect(scripted.requests).toHaveLength(1)
    const file = await call('GET', `/api/sessions/${sessionOf(response)}/files/after.txt`)
    expect(file.status).toBe(404)
  })

  /** Resolves when the server has noticed a client that went away later. */
  const isNoticed = async () => {
    const [path = ''] = routes
    const later = await post(path, bodyOf(path, model([says('Half of ', new Gate())]).id, { stream: true }))
    const read = runOf(later)
    await (
      await readBeginning(later)
    )()
    expect(await ended(read)).toMatchObject({ status: 'cancelled' })
  }

  it('leaves the run to those who still wait, and to a setting, a key for repeats and our own API', async () => {
    const { id: sessionId } = await newSession({ settings: { api: { on_disconnect: 'continue' } } })
    const [path] = routes as [string]
    const kept = [
      { path, body: bodyOf(path, ''), headers: { 'x-talaria-session-id': sessionId } },
      { path, body: bodyOf(path, ''), headers: { 'idempotency-key': 'gone' } },
      { path: `/api/sessions/${(await newSession()).id}/chat/stream`, body: { input: 'go' }, headers: {} },
    ]
    for (const { path: to, body, headers } of kept) {
      const gate = new Gate()
      const scripted = model([says('Half of ', gate, 'it')])
      const stream = to === path && { stream: true }
      const response = await post(to, { ...body, model: scripted.id, ...stream }, headers)
      const read = runOf(response)
      await (
        await readBeginning(response)
      )()
      await isNoticed()
      gate.open()
      expect([headers, (await ended(read)).output]).toEqual([headers, 'Half of it'])
    }
  })

  it('is not refused when it sends the request again', async () => {
    const gate = new Gate()
    const scripted = model([says('Half of ', gate, 'it'), says('All of it')])
    const [path] = routes as [string]
    const first = await post(path, bodyOf(path, scripted.id, { stream: true }))
    await (
      await readBeginning(first)
    )()
    const again = await call('POST', path, {
      body: bodyOf(path, scripted.id),
      headers: { 'x-stainless-retry-count': '1' },
    })
    expect([again.status, JSON.stringify(again.body)]).toEqual([200, expect.stringContaining('of it')])
    gate.open()
  })
})

describe('a client that waits for a whole answer and goes away', () => {
  const submit = async (sessionId: string, client: string | undefined, more: object = {}) => {
    const command = requestCommand('go', { runId: newRunId(sessionId), ...(client && { client }), ...more })
    const answer = objectOf(sessionId).runs.submitAndWait(command)
    await until(async () => (await objectOf(sessionId).runs.get(owner, command.runId))?.status)
    return { runId: command.runId, answer }
  }
  const leave = (sessionId: string, client: string) => objectOf(sessionId).runs.leave(owner, client)
  const owner = ownerAuthority()

  it('stops its run, unless another client waits for it', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([hangs(gate)]).id })
    const first = await submit(id, 'a')
    const same = { runId: first.runId, idempotency: 'repeat' as const }
    const second = objectOf(id).runs.submitAndWait(requestCommand('go', { ...same, client: 'b' }))
    await scheduler.wait(30)
    await leave(id, 'a')
    expect((await objectOf(id).runs.get(owner, first.runId))?.status).toBe('running')
    await leave(id, 'b')
    expect((await second)?.run).toMatchObject({ status: 'cancelled', exit_reason: 'stopped' })
    expect((await first.answer)?.run).toMatchObject({ status: 'cancelled' })
  })

  it('takes back its queued run, which never begins', async () => {
    const gate = new Gate()
    const scripted = model([says('One', gate), says('Two')])
    const { id } = await newSession({ model: scripted.id })
    const first = await submit(id, undefined)
    const second = await submit(id, 'c', { busyMode: 'queue' })
    await leave(id, 'c')
    expect((await second.answer)?.run).toMatchObject({ status: 'cancelled', exit_reason: 'stopped', output: null })
    gate.open()
    expect((await first.answer)?.run).toMatchObject({ status: 'completed', output: 'One' })
    expect(await listLines(id)).toEqual(['user: go', 'assistant: One'])
  })

  it('may go away before its message has arrived', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([hangs(gate)]).id })
    await leave(id, 'early')
    expect((await (await submit(id, 'early')).answer)?.run).toMatchObject({ status: 'cancelled' })
  })

  it('means nothing when it comes from another tenant', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([hangs(gate)]).id })
    const run = await submit(id, 'mine')
    await objectOf(id).runs.leave({ ...owner, tenantId: 'other' }, 'mine')
    gate.open()
    expect((await run.answer)?.run).toMatchObject({ status: 'completed' })
  })
})

describe('a queued run', () => {
  it('is taken back by its id, with its stream', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('Half', gate)]).id })
    const headers = { 'x-talaria-session-id': id }
    const [path] = routes as [string]
    const first = await post(path, { messages: ask('one'), stream: true }, headers)
    const second = post(path, { messages: ask('two'), stream: true }, headers)
    const queued = await until(async () => (await objectOf(id).info.get(ownerAuthority())) && queuedRunOf(id))
    const stopped = await call<Run>('POST', `/v1/runs/${queued}/stop`, { body: {} })
    expect([stopped.status, stopped.body.status]).toEqual([202, 'cancelled'])
    expect(await (await second).text()).toContain('[DONE]')
    expect((await call<Run>('GET', `/v1/runs/${queued}`)).body).toMatchObject({ status: 'cancelled', started_at: null })
    expect((await call<Run>('POST', `/v1/runs/${queued}/stop`, { body: {} })).body.status).toBe('cancelled')
    gate.open()
    await first.text()
    expect(await listLines(id)).toEqual(['user: one', 'assistant: Half'])
  })
})
