/** Tests A2A with the official client, unchanged: by JSON-RPC and by HTTP with JSON, and in the words of version 0.3. */

import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type TransportFactory,
} from '@a2a-js/sdk/client'
import { SendMessageRequest, TaskState } from '@a2a-js/sdk'
import { SELF } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { calls, Gate, hangs, model, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newTenant } from './client.ts'

beforeAll(applyMigrations)

const origin = 'https://talaria.test'

async function open(script: Parameters<typeof model>[0]) {
  const { key } = await newTenant()
  const settings = { model: { default: model(script).id }, approvals: { mode: 'off' } }
  await call('PATCH', '/api/settings', { key, body: settings })
  return key
}

const withKey =
  (key: string): typeof fetch =>
  (input, init) => {
    const sent = new Request(input, init)
    sent.headers.set('authorization', `Bearer ${key}`)
    return SELF.fetch(sent)
  }

const connect = (key: string, create: (fetchImpl: typeof fetch) => TransportFactory) =>
  new ClientFactory({
    transports: [create(withKey(key))],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl: (input, init) => SELF.fetch(new Request(input, init)) }),
  }).createFromUrl(origin)

const ask = (text: string, more: object = {}) =>
  SendMessageRequest.fromJSON({
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
  })
const noFilter = { tenant: '', contextId: '', status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: '' }
const listed = { ...noFilter, statusTimestampAfter: undefined }

const transports: readonly (readonly [string, (fetchImpl: typeof fetch) => TransportFactory])[] = [
  ['JSON-RPC', (fetchImpl) => new JsonRpcTransportFactory({ fetchImpl })],
  ['HTTP with JSON', (fetchImpl) => new RestTransportFactory({ fetchImpl })],
]

describe.each(transports)('the official client by %s', (_, create) => {
  it('sends, streams, gets, lists and cancels', async () => {
    const gate = new Gate()
    const key = await open([says('Hello.'), says('Streamed.'), hangs(gate)])
    const client = await connect(key, create)
    const sent = await client.sendMessage(ask('Say hello.'))
    if (!('contextId' in sent) || !('status' in sent)) throw new Error('no task')
    expect(sent.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    expect(sent.artifacts[0]?.parts[0]?.content).toEqual({ $case: 'text', value: 'Hello.' })
    const { contextId } = sent
    const seen: unknown[] = []
    for await (const { payload } of client.sendMessageStream(ask('Stream.', { contextId }))) seen.push(payload?.$case)
    expect([seen[0], seen.at(-1)]).toEqual(['task', 'statusUpdate'])
    expect(await client.getTask({ tenant: '', id: sent.id })).toEqual(sent)
    const running = client.sendMessage(ask('Work.', { contextId }))
    await gate.waitUntilReached()
    const all = await client.listTasks({ ...listed, contextId })
    expect(all.tasks.map(({ status }) => status?.state)).toEqual([
      TaskState.TASK_STATE_WORKING,
      TaskState.TASK_STATE_COMPLETED,
      TaskState.TASK_STATE_COMPLETED,
    ])
    expect([all.totalSize, all.nextPageToken, all.tasks.at(-1)?.id]).toEqual([3, '', sent.id])
    const [worked] = all.tasks
    const cancelled = await client.cancelTask({ tenant: '', id: worked?.id ?? '', metadata: undefined })
    expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    gate.open()
    expect(await running).toMatchObject({ id: worked?.id })
  })

  itInTurn('answers what the agent asks', async () => {
    const clarify = calls({ id: 'c1', name: 'clarify', input: { question: 'Which colour?' } })
    const client = await connect(await open([clarify, says('Blue it is.')]), create)
    const asked = await client.sendMessage(ask('Paint it.'))
    if (!('status' in asked)) throw new Error('no task')
    expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
    const answered = await client.sendMessage(ask('blue', { taskId: asked.id, contextId: asked.contextId }))
    expect(answered).toMatchObject({ id: asked.id, status: { state: TaskState.TASK_STATE_COMPLETED } })
  })

  it('gets errors of the protocol', async () => {
    const client = await connect(await open([]), create)
    await expect(client.getTask({ tenant: '', id: 'nothing' })).rejects.toThrow(/no such task|not found/i)
    await expect(client.listTasks({ ...listed, pageToken: 'forged' })).rejects.toThrow(/pageToken/)
  })
})

describe('a list of tasks', () => {
  it('goes through all sessions in pages, each task once, newest first', async () => {
    const texts = Array.from({ length: 7 }, (_, at) => `Answer ${at}.`)
    const key = await open(texts.map((text) => says(text)))
    const client = await connect(key, (fetchImpl) => new JsonRpcTransportFactory({ fetchImpl }))
    const ids: string[] = []
    for (const at of texts.keys()) {
      const sent = await client.sendMessage(ask(`Ask ${at}.`, { contextId: `context-${Math.floor(at / 3)}` }))
      ids.push('status' in sent ? sent.id : '')
    }
    const seen: string[] = []
    const sizes: number[] = []
    let pageToken = ''
    do {
      const page = await client.listTasks({ ...listed, pageSize: 2, pageToken, includeArtifacts: true })
      expect(page.tasks.every(({ artifacts }) => artifacts.length === 1)).toBe(true)
      seen.push(...page.tasks.map(({ id }) => id))
      sizes.push(page.totalSize)
      pageToken = page.nextPageToken
    } while (pageToken)
    expect(seen).toEqual(ids.toReversed())
    expect(sizes.at(-1)).toBe(7)
    const bare = await client.listTasks(listed)
    expect(bare.tasks.flatMap(({ artifacts }) => artifacts)).toEqual([])
    const future = new Date(Date.now() + 60_000).toISOString()
    expect((await client.listTasks({ ...listed, statusTimestampAfter: future })).tasks).toEqual([])
    expect((await client.listTasks({ ...listed, status: TaskState.TASK_STATE_FAILED })).tasks).toEqual([])
  })

  it.each([
    { pageSize: 0 },
    { pageSize: 101 },
    { pageSize: 'x' },
    { status: 'TASK_STATE_HAPPY' },
    { statusTimestampAfter: 'yesterday' },
    { pageToken: 'e30' },
    { pageToken: 'a'.repeat(5_000) },
  ])('refuses %j', async (params) => {
    const key = await open([])
    const body = { jsonrpc: '2.0', id: 1, method: 'ListTasks', params }
    const answer = await call<{ error?: { code: number } }>('POST', '/a2a', {
      key,
      body,
      headers: { 'a2a-version': '1.0' },
    })
    expect(answer.body.error?.code).toBe(-32_602)
  })

  it('has nothing of another tenant, also with its page token', async () => {
    const [alice, bob] = [await open([says('One.'), says('Two.')]), await open([])]
    const connectAs = (key: string) => connect(key, (fetchImpl) => new JsonRpcTransportFactory({ fetchImpl }))
    const client = await connectAs(alice)
    await client.sendMessage(ask('a', { contextId: 'of-alice' }))
    await client.sendMessage(ask('b', { contextId: 'of-alice' }))
    const { nextPageToken } = await client.listTasks({ ...listed, pageSize: 1 })
    const other = await connectAs(bob)
    for (const filter of [{}, { contextId: 'of-alice' }, { pageToken: nextPageToken }])
      expect((await other.listTasks({ ...listed, ...filter })).tasks).toEqual([])
  })
})
