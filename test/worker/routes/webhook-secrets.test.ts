/** Tests that the secret of a generic webhook can be replaced without a gap. */

import { beforeAll, describe, expect, it } from 'vitest'
import { listSecrets, replaceSecret } from '#durable/channels/webhooks/webhook-secrets.ts'

import { model, says } from '../../support/scripted-model.ts'
import { applyMigrations, call, newTenant, request } from '../client.ts'

beforeAll(applyMigrations)

const now = 1_800_000_000_000
const dayMs = 24 * 3_600_000
const replaced = (...secrets: readonly string[]) =>
  secrets.reduce((stored, secret) => replaceSecret(stored, secret, now), {})

describe('the secrets of a webhook', () => {
  it.each([
    ['one', ['a'], 0, ['a']],
    ['a replaced one, for a day', ['a', 'b'], dayMs - 1, ['b', 'a']],
    ['a replaced one, a day later', ['a', 'b'], dayMs, ['b']],
    ['one that is replaced twice', ['a', 'b', 'c'], 0, ['c', 'b']],
    ['one that is given again', ['a', 'b', 'b'], 0, ['b', 'a']],
    ['none that can be opened', [], 0, []],
  ])('are accepted: %s', (_name, given, afterMs, accepted) => {
    expect(listSecrets(replaced(...given), now + afterMs)).toEqual(accepted)
  })

  it('are the new one and the earlier one after a change by the API', async () => {
    const { key } = await newTenant()
    const { id } = model([says('a'), says('b')])
    await call('PATCH', '/api/settings', { key, body: { model: { default: id } } })
    const [first, second, third] = ['first-secret-of-it', 'second-secret-of-it', 'third-secret-of-it'] as const
    const { body } = await call<{ id: string; webhook_url: string }>('POST', '/api/webhooks', {
      key,
      body: { name: 'CI', signature: 'gitlab', secret: first },
    })
    const change = (secret: string) => call('PATCH', `/api/webhooks/${body.id}`, { key, body: { secret } })
    let events = 0
    const post = async (secret: string) => {
      const headers = { 'x-gitlab-token': secret, 'x-gitlab-event-uuid': `${++events}` }
      const { status } = await request('POST', new URL(body.webhook_url).pathname, { key: null, body: {}, headers })
      return status
    }
    expect((await change(second)).body).toMatchObject({ secret: 'f-it' })
    expect([await post(first), await post(second), await post(third)]).toEqual([202, 202, 401])
    await change(third)
    expect(await post(first)).toBe(401)
  })
})
