import { beforeAll, describe, expect, it } from 'vitest'
import { createConnections, findMailConnection, isAddressTaken, selectByAddress } from '#db/channel-connections.ts'
import { bindings, applyMigrations } from '../worker/client.ts'

beforeAll(applyMigrations)

const stored = {
  platform: 'telegram',
  name: 'Ours',
  status: 'active',
  createdAt: 1,
  webhookUrl: 'https://talaria.test/webhooks/telegram/x',
  settings: { allow_users: ['1'], streaming: false },
  secrets: 'sealed',
  endings: { bot_token: 'mnop' },
  account: { id: '5' },
} as const

describe('update()', () => {
  const connections = createConnections(bindings.DB, 'a')

  it.each([
    ['a name', { name: 'Other' }, { name: 'Other' }],
    ['a status', { status: 'paused' }, { status: 'paused' }],
    ['a setting', { settings: { streaming: true } }, { settings: { allow_users: ['1'], streaming: true } }],
    ['a list', { settings: { allow_users: [] } }, { settings: { allow_users: [], streaming: false } }],
    [
      'secrets, which clears the account',
      { secrets: { secrets: 'new', endings: { bot_token: 'tsrq' }, before: 'sealed' } },
      { secrets: 'new', endings: { bot_token: 'tsrq' }, account: null },
    ],
    ['nothing', {}, {}],
  ] as const)('of %s keeps the other fields', async (_, change, then) => {
    const id = crypto.randomUUID()
    await connections.create({ ...stored, id })
    const changed = { ...stored, id, tenantId: 'a', ...then }
    expect(await connections.update(id, change)).toEqual(changed)
    expect(await connections.get(id)).toEqual(changed)
  })

  it('returns undefined when the secrets changed meanwhile', async () => {
    const id = crypto.randomUUID()
    await connections.create({ ...stored, id })
    const endings = { bot_token: 'tsrq' }
    expect(
      await connections.update(id, { name: 'Other', secrets: { secrets: 'new', endings, before: 'older' } }),
    ).toBeUndefined()
    expect(await connections.get(id)).toEqual({ ...stored, id, tenantId: 'a' })
  })

  it('setAccount() ignores an account of replaced secrets', async () => {
    const id = crypto.randomUUID()
    await connections.create({ ...stored, id })
    await connections.setAccount({ id, secrets: 'older' }, { id: '6' })
    expect(await connections.get(id)).toMatchObject({ account: { id: '5' } })
    await connections.setAccount({ id, secrets: 'sealed' }, { id: '6' })
    expect(await connections.get(id)).toMatchObject({ account: { id: '6' } })
  })

  it('returns undefined for a connection of another tenant', async () => {
    const id = crypto.randomUUID()
    await connections.create({ ...stored, id })
    expect(await createConnections(bindings.DB, 'b').update(id, { name: 'mine' })).toBeUndefined()
    expect(await connections.get(id)).toMatchObject({ name: 'Ours' })
  })
})

describe('findMailConnection()', () => {
  const connections = createConnections(bindings.DB, 'mail')
  const mail = (id: string, createdAt: number, address: string) =>
    connections.create({ ...stored, id, createdAt, platform: 'email', settings: { address } })

  it('finds the email connection with an address, by an index', async () => {
    await mail('ch_agent', 1, 'Agent@Connections.test')
    await mail('ch_other', 0, 'other@connections.test')
    await connections.create({
      ...stored,
      id: 'ch_chat',
      createdAt: 0,
      settings: { address: 'agent@connections.test' },
    })
    expect(await findMailConnection(bindings.DB, ' AGENT@connections.test')).toBe('ch_agent')
    expect(await findMailConnection(bindings.DB, 'nobody@connections.test')).toBeUndefined()
    const plan = await bindings.DB.prepare(`EXPLAIN QUERY PLAN ${selectByAddress}`).bind('x').all<{ detail: string }>()
    expect(plan.results[0]?.detail).toBe('SEARCH channel USING INDEX channel_mail (<expr>=?)')
  })

  it('recognises the error of a second connection with an address', async () => {
    await mail('ch_one', 1, 'one@connections.test')
    expect(isAddressTaken(await mail('ch_two', 0, 'One@connections.test').catch((error: unknown) => error))).toBe(true)
    expect(isAddressTaken(await mail('ch_one', 1, 'new@connections.test').catch((error: unknown) => error))).toBe(false)
  })

  it('finds the oldest one of those that shared an address before the index was unique', async () => {
    const { DB, MIGRATIONS } = bindings
    await DB.prepare('DROP INDEX channel_mail').run()
    await mail('ch_late', 3, 'Shared@connections.test')
    await mail('ch_first', 2, 'shared@connections.test')
    const { queries = [] } = MIGRATIONS.find(({ name }) => name === '0014_mail-address-unique.sql') ?? {}
    await DB.prepare('CREATE INDEX channel_mail ON channel (id)').run()
    await DB.batch(queries.map((query) => DB.prepare(query)))
    expect(await findMailConnection(DB, 'shared@connections.test')).toBe('ch_first')
    expect((await connections.get('ch_late'))?.settings).toEqual({})
  })
})
