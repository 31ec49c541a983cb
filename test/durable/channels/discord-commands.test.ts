/** Tests that a command of Discord always ends the "is thinking" that it shows. */

import nacl from 'tweetnacl'
import { beforeAll, describe, expect, it } from 'vitest'
import { concatBytes, toHex } from '../../../src/channels/hmac.ts'
import { createDiscordApi } from '../../support/discord-api.ts'
import { calls, model, type Reply, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newTenant, request } from '../../worker/client.ts'

beforeAll(applyMigrations)

const pair = nacl.sign.keyPair()
const thinking = 128

async function createBot(replies: readonly Reply[], settings: object = {}) {
  const { key } = await newTenant()
  await call('PATCH', '/api/settings', { key, body: { model: { default: model(replies).id } } })
  const api = createDiscordApi()
  const secrets = { bot_token: api.token, public_key: toHex(pair.publicKey), application_id: '999' }
  const { body } = await call<{ id: string }>('POST', '/api/channels', {
    key,
    body: { platform: 'discord', secrets, settings: { working_note_minutes: 0, ...settings } },
  })
  const token = `itok-${api.token}`
  api.originals.set(token, { id: '501', content: '', flags: thinking })
  const sendCommand = async (text: string) => {
    const data = { name: 'talaria', options: [{ name: 'text', type: 3, value: text }] }
    const sent = { type: 2, id: '77', token, channel_id: '11', user: { id: '5', username: 'b' }, data }
    const bytes = new TextEncoder().encode(JSON.stringify(sent))
    const signature = toHex(nacl.sign.detached(concatBytes('1', bytes), pair.secretKey))
    const headers = { 'x-signature-timestamp': '1', 'x-signature-ed25519': signature }
    const answer = await request('POST', `/webhooks/discord/${body.id}`, { key: null, body: bytes, headers })
    return (await answer.json()) as { type: number; data?: { content: string; flags: number } }
  }
  return { api, token, key, channel: body.id, sendCommand }
}

describe('a command of Discord', () => {
  it('is refused at once, and only to the person who wrote it, where they may not write', async () => {
    const { sendCommand } = await createBot([])
    expect(await sendCommand('hi')).toEqual({ type: 4, data: { content: expect.any(String), flags: 64 } })
  })

  it('is refused at once while the channel is paused', async () => {
    const { sendCommand, key, channel } = await createBot([], { allow_users: ['5'] })
    await call('POST', `/api/channels/${channel}/pause`, { key })
    expect(await sendCommand('hi')).toMatchObject({ type: 4 })
  })

  it('shows that the agent thinks until the answer is a file', async () => {
    const write = calls({ name: 'write_file', input: { path: 'a.txt', content: 'content' } })
    const { api, token, sendCommand } = await createBot([write, says('MEDIA:a.txt')], { allow_users: ['5'] })
    expect(await sendCommand('hi')).toEqual({ type: 5 })
    await until(() => api.files.length)
    expect(api.originals.has(token)).toBe(false)
  })

  it('keeps the text of an answer that also has a file', async () => {
    const write = calls({ name: 'write_file', input: { path: 'a.txt', content: 'content' } })
    const { api, token, sendCommand } = await createBot([write, says('Here:\nMEDIA:a.txt')], { allow_users: ['5'] })
    await sendCommand('hi')
    await until(() => api.files.length)
    expect(api.originals.get(token)?.content).toBe('Here:')
  })

  it('is answered in place when it begins no turn', async () => {
    const { api, token, sendCommand } = await createBot([], { allow_users: ['5'] })
    expect(await sendCommand('/whoami')).toEqual({ type: 5 })
    await until(() => api.originals.get(token)?.content)
    expect(api.originals.get(token)).toMatchObject({ content: expect.stringContaining('5'), flags: 4 })
    expect(api.callsTo('channels/11/messages')).toEqual([])
  })
})
