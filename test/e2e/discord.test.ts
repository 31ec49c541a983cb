/** Tests Discord's gateway with a real server: messages over a socket, and their answers through the API. */

import { afterAll, expect, it } from 'vitest'
import { eventually } from './support/client.ts'
import { type GatewayLink, startDiscord } from './support/discord-server.ts'
import { createTenant, server } from './support/here.ts'

const token = 'bot-token-of-the-test'
const discord = await startDiscord(token, server.discordPort)
afterAll(() => discord.close())

const linkOf = async (n: number): Promise<GatewayLink> => {
  await eventually(
    () => discord.links[n]?.received.length ?? 0,
    (frames) => frames > 0,
    30_000,
  )
  return discord.links[n]!
}
const messageOf = (id: string, content: string) => ({
  id,
  channel_id: '11',
  author: { id: '5', username: 'bob' },
  content,
})
const untilPosted = (count: number) =>
  eventually(
    () => discord.posted.length,
    (posted) => posted === count,
    30_000,
  )

it('answers messages of the gateway, resumes a dropped socket, and begins no second turn for a replayed message', async () => {
  const { client } = await createTenant()
  const made = await client.post('/api/channels', {
    platform: 'discord',
    secrets: { bot_token: token, public_key: 'ab'.repeat(32), application_id: '999' },
    settings: { allow_users: ['5'] },
  })
  expect([made.status, made.json.registration]).toEqual([201, { ok: true, detail: expect.any(String) }])
  const first = await linkOf(0)
  expect(first.received[0]).toEqual({ op: 2, d: expect.objectContaining({ token, intents: 37_376 }) })
  const session = { session_id: 's1', resume_gateway_url: `${discord.url.replace('http', 'ws')}/resume` }
  first.send({ op: 0, s: 1, t: 'READY', d: { ...session, user: { id: '999' } } })
  first.send({ op: 0, s: 2, t: 'MESSAGE_CREATE', d: messageOf('m1', '[[say One]]') })
  await untilPosted(1)
  first.drop()
  const second = await linkOf(1)
  expect(second.received[0]).toEqual({ op: 6, d: { token, session_id: 's1', seq: 2 } })
  // Discord replays more than was lost.
  second.send({ op: 0, s: 2, t: 'MESSAGE_CREATE', d: messageOf('m1', '[[say One]]') })
  second.send({ op: 0, s: 3, t: 'MESSAGE_CREATE', d: messageOf('m2', '[[say Two]]') })
  second.send({ op: 0, s: 4, t: 'RESUMED', d: {} })
  await untilPosted(2)
  expect(discord.posted).toEqual([
    { channel: '11', content: 'One' },
    { channel: '11', content: 'Two' },
  ])
  const [{ id }] = (await client.get('/api/sessions')).json.data
  const roles = (await client.messages(id)).map(({ role }) => role)
  expect(roles).toEqual(['user', 'assistant', 'user', 'assistant'])
  expect(discord.refused).toEqual([])
  // Else the bot would go on connecting.
  expect((await client.send('DELETE', `/api/channels/${made.json.id}`)).status).toBeLessThan(300)
})
