/** Tests that a turn says when it lacks a tool, a risk or a scope because of others who have contributed to its conversation. */

import { beforeAll, describe, expect, it } from 'vitest'
import { othersLimit } from '#agent/core/permission/lost-rights.ts'
import { anna, bert, createChat, receiveMessage } from '../support/chat.ts'
import { calls, model, type Reply, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request } from './client.ts'
import type { Run } from './listen.ts'

beforeAll(applyMigrations)

const all = ['chat', 'read', 'write', 'jobs', 'approve']
const scopes = ['chat', 'read', 'write']
const roles = {
  limited: { scopes, toolsets: ['web', 'memory'] },
  reader: { scopes, max_risk: 'read' },
  asking: { scopes: ['chat'] },
  free: { scopes: all },
}
type Role = keyof typeof roles

/** The owner goes on in a session that this key has written into. Returns the result of the call, and the session. */
async function callAfter(role: Role, sender: 'owner' | Role, ...replies: readonly Reply[]) {
  const { id: tenant, key } = await newTenant(all)
  const settings = { roles, approvals: { mode: 'off', unattended: 'allow' } }
  await call('PATCH', '/api/settings', { key, body: settings })
  const [other, same] = await Promise.all([
    newKey(tenant, all, { role }),
    sender === 'owner' ? key : newKey(tenant, all, { role: sender }),
  ])
  const scripted = model([says('Noted.'), ...replies, says('Done.'), says('Again.'), says('And again.')])
  const { id } = await newSession({ model: scripted.id }, other)
  const chat = (by: string, input: string) =>
    call<Run>('POST', `/api/sessions/${id}/chat`, { key: by, body: { input } })
  await chat(other, 'Hello.')
  await request('PUT', `/api/sessions/${id}/files/b.txt`, { key, body: 'x' })
  const { body: run } = await chat(same, 'Go on.')
  const resultOf = (nth: number) => JSON.stringify(scripted.requests[nth]?.messages.at(-1)?.content)
  return { id, key, chat, run, result: resultOf(2), resultOf }
}

const run = calls({ name: 'terminal', input: { command: 'touch a.txt' } })
const search = calls({ name: 'session_search', input: {} })
const remember = calls({
  name: 'memory',
  input: { target: 'memory', operations: [{ action: 'add', content: 'The sky is blue.' }] },
})

describe('the result of a call', () => {
  it.each([
    ['a tool', 'limited', run],
    ['a risk', 'reader', run],
    ['the scope read', 'asking', search],
    ['the scope write', 'asking', remember],
  ] as const)('says that others have taken %s away', async (_what, role, reply) => {
    const { result } = await callAfter(role, 'owner', reply)
    expect(result).toContain(othersLimit)
  })

  it.each([
    ['a tool of its own role', 'limited', run],
    ['a risk of its own role', 'reader', run],
  ] as const)('does not blame others for %s', async (_what, role, reply) => {
    const { result } = await callAfter('free', role, reply)
    expect(result).not.toContain(othersLimit)
    expect((await callAfter(role, role, reply)).result).not.toContain(othersLimit)
  })

  it('does not blame others for a tool that nobody has', async () => {
    const { result } = await callAfter('limited', 'owner', calls({ name: 'unheard_of', input: {} }))
    expect(result).toContain('There is no tool named unheard_of')
    expect(result).not.toContain(othersLimit)
  })

  it('is there again after /new', async () => {
    const { id, key, chat } = await callAfter('limited', 'owner', run, says('Sorry.'), run)
    expect((await request('GET', `/api/sessions/${id}/files/a.txt`, { key })).status).toBe(404)
    await chat(key, '/new')
    await chat(key, 'Go on.')
    await chat(key, 'Go on.')
    expect((await request('GET', `/api/sessions/${id}/files/a.txt`, { key })).status).toBe(200)
  })
})

describe('the sender reads it', () => {
  it('in an answer that leaves a file out', async () => {
    const { run: answered } = await callAfter('limited', 'owner', says('MEDIA:b.txt'))
    expect(answered['output']).toContain(`b.txt is not attached: ${othersLimit}`)
  })

  it('in /status, until /new', async () => {
    const { key, chat } = await callAfter('limited', 'owner')
    expect((await chat(key, '/status')).body['output']).toContain(`Limited: ${othersLimit}`)
    await chat(key, '/new')
    expect((await chat(key, '/status')).body['output']).not.toContain('Limited')
  })

  it('in a chat', async () => {
    const { key } = await newTenant()
    const chat = await createChat(
      () => says('ok'),
      { require_mention: false, group_sessions: 'chat', admins: ['11'] },
      key,
    )
    const group = { id: -71, type: 'supergroup' }
    await receiveMessage(chat, '/status', { chat: group, from: anna })
    await chat.api.waitForText('Status: idle')
    expect(chat.api.sentTexts.join('')).not.toContain('Limited')
    await receiveMessage(chat, 'hello', { chat: group, from: bert })
    await chat.api.waitForText('ok')
    await receiveMessage(chat, '/status', { chat: group, from: anna })
    await chat.api.waitForText(`Limited: ${othersLimit}`)
  })
})
