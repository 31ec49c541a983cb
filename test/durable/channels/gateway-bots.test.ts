/** Tests the object that keeps the sockets of several Discord bots: what one bot does must not touch the others. */

import { env, runInDurableObject } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { maxBots } from '#durable/channels/gateway-bots.ts'
import { createDiscordApi, type DiscordApi, discordError, type GatewayLink } from '../../support/discord-api.ts'
import { model, type Reply, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newTenant } from '../../worker/client.ts'

beforeAll(applyMigrations)

async function createTenant(replies: readonly Reply[]) {
  const { id, key } = await newTenant()
  await call('PATCH', '/api/settings', { key, body: { model: { default: model(replies).id } } })
  const keeper = (object = 0) => env.CONNECTION!.getByName(`t/${id}/b/${object}`)
  const own = (channel: string) => env.CONNECTION!.getByName(`t/${id}/c/${channel}`)
  const addBot = async (api = createDiscordApi()) => {
    const { body } = await call<{ id: string }>('POST', '/api/channels', {
      key,
      body: {
        platform: 'discord',
        secrets: { bot_token: api.token, public_key: 'ab'.repeat(32), application_id: '999' },
        settings: { allow_users: ['*'], allow_chats: ['*'] },
      },
    })
    return { api, channel: body.id, object: own(body.id) }
  }
  return { tenantId: id, key, keeper, addBot }
}

const linkOf = async (api: DiscordApi, n = 0): Promise<GatewayLink> => {
  await until(() => api.links.length > n)
  return api.links[n]!
}

function becomeReady(link: GatewayLink, session: string): void {
  const d = { session_id: session, resume_gateway_url: 'wss://resume.discord.test', user: { id: '999' } }
  link.send({ op: 0, s: 1, t: 'READY', d })
}

const say = (link: GatewayLink, s: number, content: string) =>
  link.send({
    op: 0,
    s,
    t: 'MESSAGE_CREATE',
    d: { id: `${content}-${s}`, channel_id: '11', author: { id: '5', username: 'bob' }, content },
  })

type Keeper = ReturnType<Awaited<ReturnType<typeof createTenant>>['keeper']>
const evict = (object: Keeper) =>
  runInDurableObject(object, (_instance, state) => state.abort('evicted by a test')).catch(() => undefined)
const fireAlarm = (object: Keeper) => runInDurableObject(object, (instance) => instance.alarm())
const storedBots = (object: Keeper) =>
  runInDurableObject(object, (_instance, { storage }) => storage.kv.get<string[]>('bots'))

describe('several bots of a tenant', () => {
  it('share an object, and each answers what it gets', async () => {
    const { keeper, addBot } = await createTenant([says('one'), says('two')])
    const [a, b] = [await addBot(), await addBot()]
    const [linkA, linkB] = [await linkOf(a.api), await linkOf(b.api)]
    becomeReady(linkA, 'a')
    becomeReady(linkB, 'b')
    say(linkA, 2, 'to a')
    await until(() => a.api.texts.includes('one'))
    say(linkB, 2, 'to b')
    await until(() => b.api.texts.includes('two'))
    expect([a.api.texts, b.api.texts]).toEqual([['one'], ['two']])
    expect(await storedBots(keeper())).toEqual([a.channel, b.channel])
  })

  it('a bot whose token is refused, and one that is removed, leave the others alone', async () => {
    const { key, keeper, addBot } = await createTenant([says('still here')])
    const [good, refused, removed] = [await addBot(), await addBot(), await addBot()]
    const link = await linkOf(good.api)
    becomeReady(link, 'good')
    ;(await linkOf(refused.api)).close(4_004)
    await until(async () => (await refused.object.getStatus()).status === 'stopped')
    const last = await linkOf(removed.api)
    await call('DELETE', `/api/channels/${removed.channel}`, { key })
    await until(() => last.closedWith !== undefined)
    say(link, 2, 'hi')
    await until(() => good.api.texts.includes('still here'))
    expect(await good.object.getStatus()).toMatchObject({ status: 'running', isOpen: true })
    expect(good.api.links).toHaveLength(1)
    expect(await storedBots(keeper())).toEqual([good.channel, refused.channel])
  })

  it('a bot whose gateway does not answer delays no other', async () => {
    const { keeper, addBot } = await createTenant([says('quick')])
    const slow = createDiscordApi()
    slow.heldPath = 'gateway/bot'
    await addBot(slow)
    await until(() => slow.callsTo('gateway/bot').length)
    const { api } = await addBot()
    const link = await linkOf(api)
    becomeReady(link, 's')
    say(link, 2, 'hi')
    await until(() => api.texts.includes('quick'))
    await evict(keeper())
    await fireAlarm(keeper())
    expect((await linkOf(api, 1)).received[0]).toMatchObject({ op: 6, d: { session_id: 's', seq: 2 } })
    slow.heldPath = undefined
  })

  it('a bot that Discord refuses for now is tried again, and the others are not', async () => {
    const { keeper, addBot } = await createTenant([])
    const busy = createDiscordApi()
    busy.gatewayFailure = () => discordError(503, 0, 'busy')
    const { api } = await addBot()
    becomeReady(await linkOf(api), 's')
    await addBot(busy)
    await until(() => busy.callsTo('gateway/bot').length)
    busy.gatewayFailure = undefined
    await until(async () => {
      await fireAlarm(keeper())
      return busy.links.length
    })
    expect([busy.links.length, api.links.length]).toEqual([1, 1])
  })

  it('each resumes its own session after a restart', async () => {
    const { keeper, addBot } = await createTenant([says('1'), says('2'), says('3')])
    const bots = [await addBot(), await addBot(), await addBot()]
    for (const [n, { api, object }] of bots.entries()) {
      const link = await linkOf(api)
      becomeReady(link, `s${n}`)
      for (let s = 2; s < n + 3; s++) link.send({ op: 0, s, t: 'TYPING_START', d: {} })
      await until(async () => (await object.getStatus()).detail === 'connected')
    }
    await until(async () => {
      const rows = await runInDurableObject(keeper(), (_instance, { storage }) =>
        bots.map(({ channel }) => storage.kv.get<{ gateway: { seq: number } }>(`gateway/${channel}`)?.gateway.seq),
      )
      return JSON.stringify(rows) === '[2,3,4]'
    })
    await evict(keeper())
    await fireAlarm(keeper())
    for (const [n, { api }] of bots.entries())
      expect((await linkOf(api, 1)).received[0]).toMatchObject({ op: 6, d: { session_id: `s${n}`, seq: n + 2 } })
  })
})

describe('an object for bots', () => {
  const owner = (tenantId: string, n: number) => ({ id: `bot-${n}`, tenantId })

  it('is full at a number, and has room again when a bot has left', async () => {
    const { tenantId, keeper } = await createTenant([])
    const object = keeper()
    for (let n = 0; n < maxBots; n++) expect(await object.admitBot(owner(tenantId, n))).toBe(true)
    expect(await object.admitBot(owner(tenantId, maxBots))).toBe(false)
    expect(await object.admitBot(owner(tenantId, 3))).toBe(true)
    await object.releaseBot('bot-3', 'removed')
    expect(await object.admitBot(owner(tenantId, maxBots))).toBe(true)
    expect(await storedBots(object)).toHaveLength(maxBots)
  })

  it('leaves the next bot to another object, where it is found again', async () => {
    const { tenantId, key, keeper, addBot } = await createTenant([])
    for (let n = 0; n < maxBots; n++) await keeper().admitBot(owner(tenantId, n))
    const { api, channel, object } = await addBot()
    const link = await linkOf(api)
    becomeReady(link, 's')
    await until(async () => (await object.getStatus()).detail === 'connected')
    expect(await storedBots(keeper(1))).toEqual([channel])
    // A place in the first object does not move it.
    await keeper().releaseBot('bot-0', 'removed')
    await call('PATCH', `/api/channels/${channel}`, { key, body: { secrets: { bot_token: api.token } } })
    await linkOf(api, 1)
    expect(await storedBots(keeper())).not.toContain(channel)
    await call('DELETE', `/api/channels/${channel}`, { key })
    await until(async () => (await storedBots(keeper(1)))?.length === 0)
  })
})

describe('a bot across releases', () => {
  it('moves here with its session when it runs since the release before', async () => {
    const { tenantId, keeper, addBot } = await createTenant([])
    const { api, channel, object } = await addBot()
    await linkOf(api)
    await object.stop()
    await until(async () => (await storedBots(keeper()))?.length === 0)
    // As the release before stored it.
    await runInDurableObject(object, (_instance, { storage }) =>
      storage.kv.put('gateway', {
        owner: { id: channel, tenantId },
        status: 'running',
        detail: 'connected',
        failures: 0,
        gateway: { seq: 41, session: { id: 'old', resumeUrl: 'wss://resume.discord.test' } },
      }),
    )
    await evict(object)
    await fireAlarm(env.CONNECTION!.getByName(`t/${tenantId}/c/${channel}`))
    expect((await linkOf(api, 1)).received[0]).toMatchObject({ op: 6, d: { session_id: 'old', seq: 41 } })
    expect(await storedBots(keeper())).toEqual([channel])
  })

  it('can be opened in its own object by the release before', async () => {
    const { tenantId, addBot } = await createTenant([])
    const { channel, object } = await addBot()
    const [stored, alarm] = await runInDurableObject(object, async (_instance, { storage }) => [
      storage.kv.get('gateway'),
      await storage.getAlarm(),
    ])
    expect(stored).toMatchObject({ owner: { id: channel, tenantId }, status: 'running', gateway: { seq: null } })
    expect(alarm).toBeGreaterThan(Date.now())
    await object.stop()
    const [after, none] = await runInDurableObject(object, async (_instance, { storage }) => [
      storage.kv.get('gateway'),
      await storage.getAlarm(),
    ])
    expect([after, none]).toEqual([expect.objectContaining({ status: 'stopped' }), null])
  })

  it('is admitted again when its shared object has lost it', async () => {
    const { keeper, addBot } = await createTenant([])
    const { api, channel, object } = await addBot()
    await linkOf(api)
    await keeper().releaseBot(channel, 'lost')
    await fireAlarm(object)
    await linkOf(api, 1)
    expect(await storedBots(keeper())).toEqual([channel])
  })
})
