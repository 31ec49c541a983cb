/** Tests that a browser's subscription belongs to the key or person that made it. */

import { expect, it } from 'vitest'
import type { Authority } from '#agent/core/permission/authority.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { bindings as env } from '../../worker/client.ts'

const tenantId = 'push-owner'
const { push } = tenantStub(env, tenantId)
const person = (id: string, rules: string): Authority => ({
  tenantId,
  principal: { kind: 'key', id: `login:${id}`, rules, name: 'ann@example.com' },
  scopes: ['read'],
  taint: 'none',
})
const subscription = (endpoint: string) => ({ endpoint, p256dh: 'p', auth: 'a', contact: 'mailto:a@example.com' })

it('is removed by the same person, also when another rule matches by now, and by nobody else', async () => {
  await push.subscribe(person('ann', 'login_1'), subscription('https://push.example.com/1'))
  expect(await push.unsubscribe(person('mallory', 'login_1'), 'https://push.example.com/1')).toBe(false)
  expect(await push.unsubscribe(person('ann', 'login_1+login_2'), 'https://push.example.com/1')).toBe(true)
})

it('is pushed out by nobody but the key or person with the most', async () => {
  const first = 'https://push.example.com/first'
  await push.subscribe(person('bert', 'login_1'), subscription(first))
  for (let n = 0; n < 60; n++)
    await push.subscribe(person('mallory', 'login_1'), subscription(`https://push.example.com/m${n}`))
  expect(await push.unsubscribe(person('mallory', 'login_1'), 'https://push.example.com/m0')).toBe(false)
  expect(await push.unsubscribe(person('mallory', 'login_1'), 'https://push.example.com/m59')).toBe(true)
  expect(await push.unsubscribe(person('bert', 'login_1'), first)).toBe(true)
})
