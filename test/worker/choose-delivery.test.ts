/** Tests how the messages of a new channel arrive. */

import { expect, it } from 'vitest'
import { chooseDelivery } from '#worker/connections/choose-delivery.ts'

const facts = {
  asked: undefined,
  platform: 'telegram',
  canPoll: true,
  hasReceiver: true,
  webhookUrl: 'http://127.0.0.1:8787/webhooks/telegram/ch_1',
  apiBase: 'https://api.telegram.org',
} as const
const open = { webhookUrl: 'https://agent.example.com/webhooks/telegram/ch_1' }

it.each([
  ['a laptop', {}, 'polling'],
  ['a laptop in a home network', { webhookUrl: 'http://192.168.1.20:8787/x' }, 'polling'],
  ['a name of a home network', { webhookUrl: 'http://desk.local:8787/x' }, 'polling'],
  ['a deployment', open, 'webhook'],
  ['a platform on the same machine', { apiBase: 'http://127.0.0.1:8081' }, 'webhook'],
  ['a platform without such a call', { platform: 'slack', canPoll: false }, 'webhook'],
  ['a deployment without the object', { hasReceiver: false }, 'webhook'],
  ['a wish on a laptop', { asked: 'polling' }, 'polling'],
  ['a wish beside a platform on the same machine', { asked: 'polling', apiBase: 'http://127.0.0.1:8081' }, 'polling'],
  ['a wish for the webhook behind a tunnel of its own', { asked: 'webhook' }, 'webhook'],
] as const)('is chosen for %s', (_name, given, delivery) =>
  expect(chooseDelivery({ ...facts, ...given })).toBe(delivery),
)

it.each([
  ['a deployment', { ...open, asked: 'polling' }, 'public address'],
  ['a platform without such a call', { platform: 'slack', canPoll: false, asked: 'polling' }, 'cannot be asked'],
  ['a deployment without the object', { hasReceiver: false, asked: 'polling' }, 'CONNECTION'],
] as const)('is refused with the reason for %s', (_name, given, reason) =>
  expect(chooseDelivery({ ...facts, ...given })).toEqual({ refusal: expect.stringContaining(reason) }),
)
