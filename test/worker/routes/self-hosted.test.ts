/** Takes each self-hosted platform from its webhook to the delivered answer, inside the runtime. */

import { beforeAll, expect, it } from 'vitest'
import { computeHmac, concatBytes } from '#channels/hmac.ts'
import { toHex } from '#durable/platform/hash.ts'
import { createRocketApi, createTalkApi, createZulipApi, rocketRoom, talkRoom } from '../../support/hook-apis.ts'
import { createSignalApi, signalPerson, signalUuid } from '../../support/signal-api.ts'
import { model, type Reply, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newTenant, request } from '../client.ts'

beforeAll(applyMigrations)

async function createChannel(platform: string, secrets: object, replies: readonly Reply[], settings: object = {}) {
  const { key } = await newTenant()
  const scripted = model(replies)
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id } } })
  const url = `https://${platform.split('_')[0]}.test`
  const body = { platform, secrets, settings: { url, allow_users: ['*'], allow_chats: ['*'], ...settings } }
  const made = await call<{ id: string }>('POST', '/api/channels', { key, body })
  expect([made.status, made.body]).toEqual([201, expect.anything()])
  const post = async (fields: object, headers: Record<string, string> = {}) => {
    const text = new TextEncoder().encode(JSON.stringify(fields))
    return request('POST', `/webhooks/${platform}/${made.body.id}`, { key: null, body: text, headers })
  }
  return { scripted, post, id: made.body.id }
}

it('Nextcloud Talk: a room that is named gets its answer once', async () => {
  const { api, secret } = createTalkApi()
  const { post, scripted } = await createChannel('nextcloud_talk', { secret }, [says('**Hello**')], {
    mention_names: ['Hermes'],
  })
  const deliver = async (id: string, message: string) => {
    const object = { id, name: 'message', content: JSON.stringify({ message, parameters: {} }) }
    const fields = { type: 'Create', actor: { id: 'users/ada', name: 'Ada' }, object, target: { id: talkRoom } }
    const random = toHex(crypto.getRandomValues(new Uint8Array(32)))
    const signed = concatBytes(random, new TextEncoder().encode(JSON.stringify(fields)))
    const answer = await post(fields, {
      'x-nextcloud-talk-random': random,
      'x-nextcloud-talk-backend': 'https://nextcloud.test',
      'x-nextcloud-talk-signature': toHex(await computeHmac('SHA-256', secret, signed)),
    })
    expect(answer.status).toBe(200)
  }
  await deliver('1', 'lunch?')
  await deliver('2', 'Hermes, hi')
  await deliver('2', 'Hermes, hi')
  await until(() => api.texts.length > 0)
  expect([api.texts, scripted.requests.length]).toEqual([['**Hello**'], 1])
  expect(JSON.stringify(scripted.requests[0]?.messages)).toContain('lunch?')
})

it('Zulip: a topic gets its answer once, by the API', async () => {
  const { api, secrets } = createZulipApi()
  const { post, scripted } = await createChannel('zulip', secrets, [says('**Hello**')])
  const message = {
    id: 55,
    type: 'stream',
    stream_id: 7,
    subject: 'plans',
    sender_id: 11,
    sender_full_name: 'Anna',
    content: '@**Talaria** hi',
  }
  const deliver = (token: string) => post({ token, trigger: 'mention', bot_full_name: 'Talaria', message })
  for (let n = 0; n < 2; n++) {
    const answer = await deliver(secrets.token)
    expect([answer.status, await answer.json()]).toEqual([200, { response_not_required: true }])
  }
  expect((await deliver('wrong')).status).toBe(401)
  await until(() => api.texts.length > 0)
  expect(api.callsTo('/messages').map(({ body }) => [body['to'], body['topic'], body['content']])).toEqual([
    ['7', 'renamed', '**Hello**'],
  ])
  expect(scripted.requests).toHaveLength(1)
})

it('Signal: the secret ends the address, and a person is one by number and id', async () => {
  const { api, secrets } = createSignalApi()
  const { id, scripted } = await createChannel('signal', secrets, [says('one'), says('two')], {
    allow_users: [signalPerson],
  })
  const deliver = async (path: string, envelope: object) => {
    const body = { envelope: { sourceUuid: signalUuid, sourceName: 'Anna', ...envelope }, account: secrets.number }
    return (await request('POST', `/webhooks/${path}`, { key: null, body })).status
  }
  const first = { sourceNumber: signalPerson, timestamp: 1, dataMessage: { timestamp: 1, message: 'hi' } }
  const path = `signal/${id}/${secrets.webhook_secret}`
  for (const wrong of [`signal/${id}/x`, `signal/${id}`]) expect(await deliver(wrong, first)).toBe(401)
  expect(await deliver(`line/${id}/${secrets.webhook_secret}`, first)).toBe(404)
  for (let n = 0; n < 2; n++) expect(await deliver(path, first)).toBe(200)
  await until(() => api.texts.includes('one'))
  expect(await deliver(path, { timestamp: 2, dataMessage: { timestamp: 2, message: 'and now?' } })).toBe(200)
  await until(() => api.texts.includes('two'))
  expect(JSON.stringify(scripted.requests[1]?.messages)).toMatch(/hi.*one.*and now/)
  const { id: other } = await createChannel('rocketchat', createRocketApi().secrets, [])
  expect(await deliver(`rocketchat/${other}/x`, first)).toBe(404)
})

it('Rocket.Chat: a direct message gets its answer once', async () => {
  const { api, secrets } = createRocketApi()
  const { post, scripted } = await createChannel('rocketchat', secrets, [says('**Hello**')])
  const fields = {
    token: secrets.token,
    channel_id: rocketRoom,
    message_id: 'm1',
    user_id: '11',
    user_name: 'anna',
    text: 'hi',
  }
  for (let n = 0; n < 2; n++) expect((await post(fields)).status).toBe(200)
  await until(() => api.texts.length > 0)
  expect([api.texts, scripted.requests.length]).toEqual([['**Hello**'], 1])
})
