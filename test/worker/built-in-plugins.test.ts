/** Tests built-in plugins in sessions: they are off until a setting names them, and messages reach chats once. */

import { beforeAll, describe, expect, it, vi } from 'vitest'
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { settingsSchema } from '#agent/core/settings.ts'
import { builtInPlugins } from '#tools/plugins/plugins.ts'
import { objectOf, turnOf } from '../durable/support/object.ts'
import { createChat, receiveMessage } from '../support/chat.ts'
import { calls, listTexts, model, type ModelRequest, says, until } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newKey, newSession, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

const enable = (key: string, enabled: readonly string[], more: object = {}) =>
  call<ErrorBody>('PATCH', '/api/settings', {
    key,
    body: { plugins: { enabled }, approvals: { mode: 'off' }, ...more },
  })

/** Runs one call of the model, and returns the request that has its result. */
async function run(key: string, name: string, input: object, more: object = {}) {
  const asked: ModelRequest[] = []
  const scripted = model((one, nth) => (asked.push(one), nth === 0 ? calls({ name, input }) : says('done')))
  const { id } = await newSession({ model: scripted.id, ...more }, key)
  await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
  return { id, asked, text: asked.slice(1).flatMap(listTexts).join('\n') }
}

const offered = ([first]: readonly ModelRequest[]): string => JSON.stringify(first)

describe('a built-in plugin', () => {
  it('is one of the names of the setting', () => {
    const names = builtInPlugins.map(({ name }) => name)
    expect(settingsSchema.safeParse({ plugins: { enabled: names } }).success).toBe(true)
    expect(settingsSchema.safeParse({ plugins: { enabled: ['other'] } }).success).toBe(false)
  })

  it('is off by default, and on for all sessions of the tenant alone once somebody who may decides it', async () => {
    const [{ id, key }, other] = [await newTenant(), await newTenant()]
    expect(offered((await run(key, 'todo', {})).asked)).not.toContain('send_message')
    const weak = await newKey(id, ['chat', 'read', 'write'])
    expect((await enable(weak, ['send_message'])).status).toBe(403)
    await enable(key, ['send_message', 'homeassistant'])
    const on = offered((await run(key, 'todo', {})).asked)
    expect(on).toContain('send_message')
    expect(on).toContain('ha_call_service')
    expect(on).not.toContain('spotify_')
    expect(offered((await run(other.key, 'todo', {})).asked)).not.toContain('send_message')
    await enable(key, [])
    expect(offered((await run(key, 'todo', {})).asked)).not.toContain('send_message')
  })

  it('says what it needs, and calls no private address of a tenant', async () => {
    const { key } = await newTenant()
    await enable(key, ['homeassistant'])
    expect((await run(key, 'ha_list_entities', {})).text).toContain('Home Assistant is not set up')
    await call('POST', '/api/credentials', { key, body: { provider: 'homeassistant', key: 'token-of-home-assistant' } })
    await enable(key, ['homeassistant'], {
      plugins: { enabled: ['homeassistant'], homeassistant_url: 'http://127.0.0.1:8123' },
    })
    const { text } = await run(key, 'ha_list_entities', {})
    expect(text).toContain('cannot be reached')
    expect(text).not.toContain('token-of-home-assistant')
  })

  it('can be taken away by the toolsets of a session and by a role', async () => {
    const { id, key } = await newTenant()
    await enable(key, ['send_message'], { roles: { guest: { scopes: ['chat', 'read'], toolsets: ['file'] } } })
    const without = await run(key, 'todo', {}, { settings: { toolsets: { disabled: ['send_message'] } } })
    expect(offered(without.asked)).not.toContain('send_message')
    const guest = await newKey(id, ['chat', 'read'], { role: 'guest' })
    expect(offered((await run(guest, 'read_file', { path: 'a' })).asked)).not.toContain('send_message')
  })
})

describe('hooks of a built-in plugin', () => {
  it('decide together with those of a tenant, in every mode, and end with the setting', async () => {
    const { key } = await newTenant()
    await enable(key, ['git_guard'])
    const forced = { command: 'git push --force origin topic' }
    expect((await run(key, 'terminal', forced)).text).toContain('the plugin git_guard says: a forced push')
    // A plugin of the tenant changes the arguments. The guard sees what is about to run.
    const code = `export const hooks = { pre_tool_call: { matcher: 'terminal', run: ({ args }) => {
      if (args.command === 'rewrite') return { action: 'modify', args: { command: 'echo rewritten' } }
      if (args.command === 'smuggle') return { action: 'modify', args: { command: 'git push --force' } }
    } } }`
    const { body } = await call<{ hash: string }>('POST', '/api/plugins', { key, body: { name: 'own', code } })
    await call('POST', '/api/plugins/own/approve', { key, body: { hash: body.hash } })
    expect((await run(key, 'terminal', { command: 'rewrite' })).text).toContain('rewritten')
    expect((await run(key, 'terminal', { command: 'smuggle' })).text).toContain('the plugin git_guard says')
    await enable(key, [])
    expect((await run(key, 'terminal', forced)).text).not.toContain('git_guard')
    expect((await run(key, 'terminal', { command: 'rewrite' })).text).toContain('rewritten')
  })

  it('have a person asked where nothing else asks', async () => {
    const { key } = await newTenant()
    await enable(key, ['git_guard'])
    const scripted = model([
      calls({ id: 'c', name: 'terminal', input: { command: 'git push origin topic' } }),
      says('done'),
    ])
    const { id } = await newSession({ model: scripted.id }, key)
    await call('POST', '/v1/runs', { key, body: { input: 'go', session_id: id } })
    const waiting = await until(async () => {
      const { body } = await call<{ data: { session_id: string }[] }>('GET', '/api/approvals', { key })
      return body.data.find((one) => one.session_id === id)
    })
    expect(JSON.stringify(waiting)).toContain('it pushes to a remote repository')
  })
})

/** Other tenants are an agent at peer.example.com. `onSent`: an agent has got a message, and its answer is not there yet. */
function servePeer(onSent?: () => Promise<void>) {
  const asked: string[] = []
  const goOn = fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const sent = new Request(input as RequestInfo, init as RequestInit)
    const { host, pathname } = new URL(sent.url)
    if (host !== 'peer.example.com') return goOn(input as RequestInfo, init as RequestInit)
    const json = sent.method === 'POST' ? await sent.json<{ method: string }>() : undefined
    if (json) asked.push(json.method)
    const headers = { 'a2a-version': sent.headers.get('a2a-version') ?? '' }
    const bearer = sent.headers.get('authorization')?.replace('Bearer ', '') ?? null
    const answer = await request(sent.method as 'GET', pathname, { key: bearer, headers, ...(json && { body: json }) })
    if (json?.method === 'SendMessage') await onSent?.()
    if (pathname !== '/.well-known/agent-card.json') return answer
    // The card names the host that was asked.
    return new Response((await answer.text()).replaceAll(/https?:\/\/[^/"]+\/a2a/g, 'https://peer.example.com/a2a'))
  })
  return asked
}

async function addPeer(key: string, value: string) {
  await call('POST', '/api/secrets', { key, body: { name: 'PEER_KEY', value } })
  const agents = [{ name: 'peer', url: 'https://peer.example.com', secret: 'PEER_KEY' }]
  await enable(key, ['a2a'], { plugins: { enabled: ['a2a'], a2a_agents: agents } })
}

describe('a2a', () => {
  it('calls the agent of another tenant by its card, with a secret that the model does not see', async () => {
    const [own, peer] = [await newTenant(), await newTenant()]
    const peerModel = model([says('Hello from the peer.')])
    await call('PATCH', '/api/settings', { key: peer.key, body: { model: { default: peerModel.id } } })
    servePeer()
    await addPeer(own.key, peer.key)
    const called = await run(own.key, 'a2a_call', { agent: 'peer', message: 'Say hello.' })
    expect(called.text).toContain('Hello from the peer.')
    expect(called.text).toContain('"state":"completed"')
    expect(JSON.stringify(called.asked)).not.toContain(peer.key)
    // Answers of others stand in a fence.
    expect(called.text).toMatch(/untrusted|foreign/i)
    vi.restoreAllMocks()
    const weak = await newKey(own.id, ['chat', 'read', 'write'])
    expect((await enable(weak, ['a2a'], { plugins: { enabled: ['a2a'], a2a_agents: [] } })).status).toBe(403)
  })
})

it('a call of another Talaria finds its task after it was killed between the message and its answer', async () => {
  const [own, peer] = [await newTenant(), await newTenant()]
  const peerModel = model([says('Hello from the peer.')])
  await call('PATCH', '/api/settings', { key: peer.key, body: { model: { default: peerModel.id } } })
  let isSent = false
  const asked = servePeer(async () => {
    isSent = true
    await scheduler.wait(20_000)
  })
  await addPeer(own.key, peer.key)
  const requests: ModelRequest[] = []
  const input = { agent: 'peer', message: 'Say hello.' }
  const scripted = model(
    (one, nth) => (requests.push(one), nth === 0 ? calls({ name: 'a2a_call', input }) : says('done')),
  )
  const { id } = await newSession({ model: scripted.id }, own.key)
  await call('POST', '/v1/runs', { key: own.key, body: { input: 'go', session_id: id } })
  await until(() => isSent)
  const object = objectOf(id, own.id)
  await runInDurableObject(object, (_, state) => state.abort('killed by a test')).catch(() => undefined)
  await until(async () => {
    await runDurableObjectAlarm(objectOf(id, own.id))
    return (await call('GET', `/api/sessions/${id}`, { key: own.key })).body['status'] === 'idle'
  })
  expect(requests.slice(1).flatMap(listTexts).join('\n')).toContain('"reply":"Hello from the peer."')
  expect(asked.filter((method) => method === 'SendMessage')).toHaveLength(1)
  expect(asked).toContain('ListTasks')
  const { data } = (await call<{ data: object[] }>('GET', '/api/sessions', { key: peer.key })).body
  expect(data).toHaveLength(1)
  vi.restoreAllMocks()
})

/** A session that calls an agent whose task works until `finish`. */
async function callSlowAgent() {
  const { key, id: tenant } = await newTenant()
  const asked: string[] = []
  let state = 'WORKING'
  const goOn = fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const sent = new Request(input as RequestInfo, init as RequestInit)
    if (new URL(sent.url).host !== 'slow.example.com') return goOn(input as RequestInfo, init as RequestInit)
    const address = { protocolBinding: 'JSONRPC', protocolVersion: '1.0', url: 'https://slow.example.com/rpc' }
    if (sent.method === 'GET') return Response.json({ name: 'Slow', supportedInterfaces: [address] })
    asked.push((await sent.json<{ method: string }>()).method)
    const task = { id: 't1', status: { state: `TASK_STATE_${state}` }, artifacts: [{ parts: [{ text: 'whole' }] }] }
    return Response.json({ jsonrpc: '2.0', id: 1, result: task })
  })
  await enable(key, ['a2a'], {
    plugins: { enabled: ['a2a'], a2a_agents: [{ name: 'slow', url: 'https://slow.example.com' }] },
  })
  const requests: ModelRequest[] = []
  const input = { agent: 'slow', message: 'Work.' }
  const scripted = model(
    (one, nth) => (requests.push(one), nth === 0 ? calls({ name: 'a2a_call', input }) : says('done')),
  )
  const { id } = await newSession({ model: scripted.id }, key)
  await call('POST', '/v1/runs', { key, body: { input: 'go', session_id: id } })
  const calledAway = async () => {
    const { stage } = await turnOf(id, tenant)
    return stage.at === 'tools' && stage.calls.some((one) => one.state === 'away')
  }
  await until(async () => asked.includes('GetTask') && (await calledAway()))
  const ended = () => until(async () => (await call('GET', `/api/sessions/${id}`, { key })).body['status'] === 'idle')
  const read = () => requests.slice(1).flatMap(listTexts).join('\n')
  return { id, key, asked, ended, read, object: () => objectOf(id, tenant), finish: () => void (state = 'COMPLETED') }
}

describe('a task of another agent', () => {
  it('is asked for again after the object was killed, and gets its message once', async () => {
    const { asked, ended, read, object, finish } = await callSlowAgent()
    await runInDurableObject(object(), (_, state) => state.abort('killed by a test')).catch(() => undefined)
    finish()
    await runDurableObjectAlarm(object())
    await ended()
    expect(read()).toContain('"reply":"whole"')
    expect(asked.filter((method) => method === 'SendMessage')).toHaveLength(1)
    vi.restoreAllMocks()
  })

  it('is cancelled when the person stops the turn', async () => {
    const { id, key, asked, ended } = await callSlowAgent()
    await call('POST', `/api/sessions/${id}/stop`, { key })
    await ended()
    await until(() => asked.includes('CancelTask'))
    expect(asked.filter((method) => method !== 'GetTask')).toEqual(['SendMessage', 'CancelTask'])
    vi.restoreAllMocks()
  })
})

describe('send_message', () => {
  it('sends a text and files to a chat, once, also as the home of its platform', async () => {
    const { key } = await newTenant()
    const chat = await createChat([says('hello')], { admins: ['11'] }, key)
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('hello')
    await enable(key, ['send_message'])
    const target = `${chat.channel}:11`
    const listed = await run(key, 'send_message', { action: 'list' })
    expect(listed.text).toContain(target)
    const file = await newSession({}, key)
    await request('PUT', `/api/sessions/${file.id}/files/report.txt`, { key, body: 'the report' })
    const asked: ModelRequest[] = []
    const input = { target, text: '**Done.**', files: ['report.txt'] }
    const scripted = model(
      (one, nth) => (asked.push(one), nth === 0 ? calls({ name: 'send_message', input }) : says('ok')),
    )
    await call('PATCH', `/api/sessions/${file.id}`, { key, body: { model: scripted.id } })
    await call('POST', `/api/sessions/${file.id}/chat`, { key, body: { input: 'go' } })
    expect(asked.slice(1).flatMap(listTexts).join('\n')).toContain('"success":true')
    await chat.api.waitForText('Done.')
    await until(() => chat.api.sentFiles.length || undefined)
    expect(chat.api.sentFiles).toEqual([{ name: expect.stringContaining('report.txt'), bytes: 10 }])
    expect(chat.api.messageTexts.filter((text) => text.includes('Done.'))).toHaveLength(1)
    await receiveMessage(chat, '/sethome')
    await until(() => chat.api.messageTexts.some((text) => /is now the home/.test(text)) || undefined)
    expect((await run(key, 'send_message', { target: 'telegram', text: 'At home.' })).text).toContain('"success":true')
    await chat.api.waitForText('At home.')
  })

  it('waits for a person, who sees the target and the text', async () => {
    const { key } = await newTenant()
    const chat = await createChat([says('hello')], {}, key)
    await enable(key, ['send_message'], { approvals: { mode: 'manual' } })
    const target = `${chat.channel}:11`
    const scripted = model([calls({ id: 'c', name: 'send_message', input: { target, text: 'May I?' } }), says('done')])
    const { id } = await newSession({ model: scripted.id }, key)
    await call('POST', '/v1/runs', { key, body: { input: 'go', session_id: id } })
    const waiting = await until(async () => {
      const { body } = await call<{ data: { id: string; session_id: string }[] }>('GET', '/api/approvals', { key })
      return body.data.find((one) => one.session_id === id)
    })
    expect(JSON.stringify(waiting)).toContain('May I?')
    expect(JSON.stringify(waiting)).toContain(target)
    expect(chat.api.messageTexts).not.toContain('May I?')
    await call('POST', `/api/approvals/${waiting.id}`, { key, body: { decision: 'once' } })
    await chat.api.waitForText('May I?')
  })

  it.each([
    [{ text: 'x' }, 'Name a target'],
    [{ target: 'telegram:1' }, 'nothing to send'],
    [{ target: 'nowhere:1', text: 'x' }, 'There is no active channel'],
    [{ target: 'https://example.com/', text: 'x' }, 'Name one chat'],
    [{ target: 'telegram:1', text: 'x', files: ['none.txt'] }, 'File not found'],
  ])('explains %j', async (input, text) => {
    const { key } = await newTenant()
    await enable(key, ['send_message'])
    expect((await run(key, 'send_message', input)).text).toContain(text)
  })

  it('reaches no chat of another tenant', async () => {
    const [alice, bob] = [await newTenant(), await newTenant()]
    const chat = await createChat([says('hello')], {}, alice.key)
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('hello')
    await enable(bob.key, ['send_message'])
    const { text } = await run(bob.key, 'send_message', { target: `${chat.channel}:11`, text: 'intruder' })
    expect(text).toContain('There is no active channel')
    expect((await run(bob.key, 'send_message', { action: 'list' })).text).toContain('"targets":[]')
    expect(chat.api.messageTexts).not.toContain('intruder')
  })
})
