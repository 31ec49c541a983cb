/** Tests how a tenant's object assigns sockets to its relays and sends them events. */

import { afterEach, expect, it } from 'vitest'
import { fullAccess } from '#agent/core/permission/access.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import { EventRelays } from '#durable/tenant/events/event-relays.ts'
import type { Delivery, RelayReport } from '#durable/tenant/events/event-relay.ts'
import type { StoredValues } from '#durable/tenant/stored-values.ts'
import { createSkippingClock } from '../../support/clock.ts'

afterEach(() => replaceClock())

type Answer = (id: number, delivery: Delivery) => Promise<RelayReport>

function createRelays(maxSockets: number, answer: Answer = async () => ({ sockets: 1, keys: ['k'] })) {
  const stored = new Map<string, unknown>()
  const values = {
    get: (name: string) => stored.get(name),
    set: (name: string, value: unknown) => void stored.set(name, value),
  } as unknown as StoredValues
  const deliveries: Delivery[] = []
  const connect = (id: number) => ({
    deliver: (delivery: Delivery) => {
      deliveries.push(delivery)
      return answer(id, delivery)
    },
    setAccess: async () => undefined,
  })
  return { relays: new EventRelays({ values, maxSockets: () => maxSockets, connect }), deliveries }
}

it('fills a relay before the next one, skips one that is full, and ends at fifty', () => {
  const { relays } = createRelays(2)
  expect(relays.isEmpty).toBe(true)
  const assigned = [undefined, undefined, undefined].map((full) => relays.assign(full))
  expect(assigned).toEqual([1, 1, 2])
  expect(relays.assign(2)).toBe(3)
  const rest = Array.from({ length: 200 }, () => relays.assign(undefined))
  expect(rest.filter((id) => id !== undefined)).toHaveLength(95)
  expect(rest.at(-1)).toBeUndefined()
})

it('events that come while a call runs share the next call', async () => {
  const gate = Promise.withResolvers<void>()
  const { relays, deliveries } = createRelays(2, async () => {
    await gate.promise
    return { sockets: 1, keys: ['k'] }
  })
  relays.assign(undefined)
  const first = relays.send(['a'])
  await Promise.resolve()
  await Promise.resolve()
  const others = [relays.send(['b']), relays.send(['c', 'd'])]
  gate.resolve()
  expect(await first).toEqual(['k'])
  await Promise.all(others)
  expect(deliveries.map(({ texts }) => texts)).toEqual([['a'], ['b', 'c', 'd']])
})

it('a relay that missed events is told so with the next ones', async () => {
  let isDown = true
  const { relays, deliveries } = createRelays(2, async () => {
    if (isDown) throw new Error('unreachable')
    return { sockets: 1, keys: [] }
  })
  relays.assign(undefined)
  expect(await relays.send(['a'])).toEqual([])
  isDown = false
  await relays.send(['b'])
  await relays.send(['c'])
  expect(deliveries).toEqual([
    { texts: ['a'], isLost: false },
    { texts: ['b'], isLost: true },
    { texts: ['c'], isLost: false },
  ])
})

it('a relay without sockets is kept while one may be on its way, and after a change of access', async () => {
  const clock = createSkippingClock()
  replaceClock(clock)
  const { relays } = createRelays(2, async () => ({ sockets: 0, keys: [] }))
  relays.assign(undefined)
  await relays.send(['a'])
  expect(relays.isEmpty).toBe(false)
  clock.pass(61_000)
  await relays.setAccess(fullAccess)
  await relays.send(['b'])
  expect(relays.isEmpty).toBe(false)
  clock.pass(61_000)
  relays.assign(undefined)
  clock.pass(61_000)
  await relays.send(['c'])
  expect(relays.isEmpty).toBe(true)
})
