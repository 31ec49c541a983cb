/** Tests that a command of Discord always ends the "is thinking" that it shows. */

import nacl from 'tweetnacl'
import { beforeAll, describe, expect, it } from 'vitest'
import { concatBytes } from '#channels/hmac.ts'
import { createDiscordApi, discordError } from '../../support/discord-api.ts'
import { calls, Gate, model, type Reply, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newTenant, request } from '../../worker/client.ts'
import { toHex } from '#durable/platform/hash.ts'

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
  let commands = 0
  const tokenOf = (nth: number) => `itok-${api.token}-${nth}`
  const originalOf = (nth: number) => api.originals.get(tokenOf(nth))
  const sendCommand = async (text: string) => {
    const token = tokenOf(++commands)
    api.originals.set(token, { id: `50${commands}`, content: '', flags: thinking })
    const data = { name: 'talaria', options: [{ name: 'text', type: 3, value: text }] }
    const sent = { type: 2, id: `77${commands}`, token, channel_id: '11', user: { id: '5', username: 'b' }, data }
    const bytes = new TextEncoder().encode(JSON.stringify(sent))
    const signature = toHex(nacl.sign.detached(concatBytes('1', bytes), pair.secretKey))
    const headers = { 'x-signature-timestamp': '1', 'x-signature-ed25519': signature }
    const answer = await request('POST', `/webhooks/discord/${body.id}`, { key: null, body: bytes, headers })
    return (await answer.json()) as { type: number; data?: { content: string; flags: number } }
  }
  return { api, key, channel: body.id, sendCommand, originalOf }
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
    const { api, originalOf, sendCommand } = await createBot([write, says('MEDIA:a.txt')], { allow_users: ['5'] })
    expect(await sendCommand('hi')).toEqual({ type: 5 })
    await until(() => api.files.length)
    expect(originalOf(1)).toBeUndefined()
  })

  it('keeps the text of an answer that also has a file', async () => {
    const write = calls({ name: 'write_file', input: { path: 'a.txt', content: 'content' } })
    const { api, originalOf, sendCommand } = await createBot([write, says('Here:\nMEDIA:a.txt')], {
      allow_users: ['5'],
    })
    await sendCommand('hi')
    await until(() => api.files.length)
    expect(originalOf(1)?.content).toBe('Here:')
  })

  it('is answered in place when it begins no turn', async () => {
    const { api, originalOf, sendCommand } = await createBot([], { allow_users: ['5'] })
    expect(await sendCommand('/whoami')).toEqual({ type: 5 })
    await until(() => originalOf(1)?.content)
    expect(originalOf(1)).toMatchObject({ content: expect.stringContaining('5'), flags: 4 })
    expect(api.callsTo('channels/11/messages')).toEqual([])
  })

  it('shows an approval in its place, and the answer below it', async () => {
    const writes = calls({ name: 'terminal', input: { command: 'echo x' } })
    const { api, key, originalOf, sendCommand } = await createBot([writes, says('Done.')], { allow_users: ['5'] })
    const rules = [{ do: 'ask', tool: 'terminal' }]
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual', rules } } })
    await sendCommand('go')
    await until(() => originalOf(1)?.content)
    expect(originalOf(1)?.content).toContain('May terminal be called')
    await sendCommand('/approve')
    await until(() => originalOf(2)?.content)
    expect(originalOf(2)).toMatchObject({ content: 'Taken.', flags: 4 })
    await until(() => api.texts.includes('Done.'))
    expect(api.callsTo('channels/11/messages')).toHaveLength(1)
  })

  it.each([
    ['a member', undefined],
    ['no member', () => discordError(403, 50_001, 'Missing Access')],
  ])('becomes the preview and then the answer where the bot is %s', async (_name, refusal) => {
    const gate = new Gate()
    const settings = { allow_users: ['5'], streaming: true }
    const { api, originalOf, sendCommand } = await createBot([says('One ', gate, 'two.')], settings)
    await sendCommand('hi')
    await until(() => originalOf(1)?.content)
    expect(originalOf(1)).toMatchObject({ content: 'One  …', flags: 4 })
    if (refusal) api.overrideNext(refusal)
    gate.open()
    await until(() => api.texts.includes('One two.'))
    expect(api.texts).toEqual(['One two.'])
    expect(api.callsTo('channels/11/messages')).toEqual([])
  })

  it.each([
    ['interrupt', 'goes on with this'],
    ['steer', 'reads this'],
  ])('is confirmed in its place when it joins a turn by %s', async (busyMode, text) => {
    const gate = new Gate()
    const settings = { allow_users: ['5'], busy_mode: busyMode }
    const { originalOf, sendCommand } = await createBot([says('One', gate), says('Two.')], settings)
    await sendCommand('a')
    await gate.waitUntilReached()
    await sendCommand('b')
    await until(() => originalOf(2)?.content)
    expect(originalOf(2)).toMatchObject({ content: expect.stringContaining(text), flags: 4 })
    gate.open()
    await until(() => originalOf(1)?.content)
    expect(originalOf(1)?.flags).toBe(4)
  })

  it('shows the end of a turn, and of a queued message, that /stop cancels', async () => {
    const gate = new Gate()
    const settings = { allow_users: ['5'], busy_mode: 'queue' }
    const { api, originalOf, sendCommand } = await createBot([says('One', gate)], settings)
    await sendCommand('a')
    await gate.waitUntilReached()
    await sendCommand('b')
    await sendCommand('/stop')
    await until(() => [1, 2, 3].every((nth) => originalOf(nth)?.content))
    expect([1, 2, 3].map((nth) => originalOf(nth)?.content)).toEqual([
      'Stopped.',
      'Stopped.',
      'Stopped: the turn, 1 queued message.',
    ])
    expect(api.callsTo('channels/11/messages')).toEqual([])
    gate.open()
  })

  it('is answered in its place when it repeats the last message', async () => {
    const { originalOf, sendCommand } = await createBot([says('One.'), says('Two.')], { allow_users: ['5'] })
    await sendCommand('hi')
    await until(() => originalOf(1)?.content)
    await sendCommand('/retry')
    await until(() => originalOf(2)?.content)
    expect(originalOf(2)?.content).toBe('Two.')
  })
})
