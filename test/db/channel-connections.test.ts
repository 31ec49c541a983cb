/** Connections of channels: a change writes what it names and nothing else. */

import { beforeAll, describe, expect, it } from 'vitest'
import { createConnections } from '../../src/db/channel-connections.ts'
import { bindings, migrated } from '../worker/client.ts'

beforeAll(migrated)

const known = {
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

describe('a change of a connection', () => {
  const all = createConnections(bindings.DB, 'a')

  it.each([
    ['a name', { name: 'Other' }, { name: 'Other' }],
    ['a status', { status: 'paused' }, { status: 'paused' }],
    ['a setting', { settings: { streaming: true } }, { settings: { allow_users: ['1'], streaming: true } }],
    ['a list', { settings: { allow_users: [] } }, { settings: { allow_users: [], streaming: false } }],
    [
      'secrets, whose account is not known yet',
      { secrets: { secrets: 'new', endings: { bot_token: 'tsrq' }, before: 'sealed' } },
      { secrets: 'new', endings: { bot_token: 'tsrq' }, account: null },
    ],
    ['nothing', {}, {}],
  ] as const)('of %s leaves the rest as it is', async (_, change, then) => {
    const id = crypto.randomUUID()
    await all.create({ ...known, id })
    const changed = { ...known, id, tenantId: 'a', ...then }
    expect(await all.update(id, change)).toEqual(changed)
    expect(await all.get(id)).toEqual(changed)
  })

  it('of secrets that are not those any more finds none', async () => {
    const id = crypto.randomUUID()
    await all.create({ ...known, id })
    const endings = { bot_token: 'tsrq' }
    expect(
      await all.update(id, { name: 'Other', secrets: { secrets: 'new', endings, before: 'older' } }),
    ).toBeUndefined()
    expect(await all.get(id)).toEqual({ ...known, id, tenantId: 'a' })
  })

  it('to the account of other secrets is let go', async () => {
    const id = crypto.randomUUID()
    await all.create({ ...known, id })
    await all.setAccount({ id, secrets: 'older' }, { id: '6' })
    expect(await all.get(id)).toMatchObject({ account: { id: '5' } })
    await all.setAccount({ id, secrets: 'sealed' }, { id: '6' })
    expect(await all.get(id)).toMatchObject({ account: { id: '6' } })
  })

  it('of another tenant’s finds none', async () => {
    const id = crypto.randomUUID()
    await all.create({ ...known, id })
    expect(await createConnections(bindings.DB, 'b').update(id, { name: 'mine' })).toBeUndefined()
    expect(await all.get(id)).toMatchObject({ name: 'Ours' })
  })
})
