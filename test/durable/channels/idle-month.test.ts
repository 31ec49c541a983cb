/** Tests that a tenant with chats of three platforms and a limit on its storage is never woken while nobody writes. */

import { deliverMail } from '../support/mail.ts'
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { createChat, receiveMessage } from '../../support/chat.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { says, until } from '../../support/scripted-model.ts'
import { createSlackChat } from '../../support/slack-chat.ts'
import { applyMigrations, bindings, call, newTenant } from '../../worker/client.ts'
import { objectOf } from '../support/object.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

const monthMs = 31 * 86_400_000

it('an idle month of a tenant with Telegram, Slack and email has no wake-up', async () => {
  const clock = createSkippingClock()
  replaceClock(clock)
  const { id, key } = await newTenant()
  await call('PATCH', `/api/admin/tenants/${id}`, { body: { limits: { storage_bytes: 1_000_000_000 }, mail: ['*'] } })
  const telegram = await createChat(() => says('answer'), {}, key)
  const slack = await createSlackChat(key)
  const address = 'idle@talaria.test'
  const settings = { address, allow_users: ['anna@x.test'] }
  await call('POST', '/api/channels', { key, body: { platform: 'email', secrets: {}, settings } })
  await receiveMessage(telegram, 'hello')
  await slack.send({ channel: 'D1', channel_type: 'im', text: 'hello', ts: '1.1' })
  await deliverMail(address, ['Message-ID: <1@x.test>', 'Subject: Hello'], 'hello')
  const listSessions = async () =>
    (await call<{ data: { id: string }[] }>('GET', '/api/sessions', { key })).body.data.map((one) => one.id)
  const sessions = await until(async () => {
    const found = await listSessions()
    return found.length === 3 ? found : undefined
  })
  const objects = [bindings.TENANT.getByName(`t/${id}`), ...sessions.map((one) => objectOf(one, id))]
  const alarms = () =>
    Promise.all(objects.map((one) => runInDurableObject(one, (_object, { storage }) => storage.getAlarm())))
  /** Everything that follows is finished within a day: deliveries, history, the measurement of the storage. */
  await until(async () => {
    clock.pass(3_600_000)
    for (const object of objects) await runDurableObjectAlarm(object)
    return (await alarms()).every((at) => at === null)
  })
  clock.pass(monthMs)
  expect(await alarms()).toEqual(objects.map(() => null))
  expect(await Promise.all(objects.map((object) => runDurableObjectAlarm(object)))).toEqual(objects.map(() => false))
})
