/** Tests what each kind of key can do at each door: with a session of another key, with jobs, media, memory and settings. */

import { beforeAll, expect, it } from 'vitest'
import { doorKeys, doorRoles, doors, type DoorKey } from '../support/doors.ts'
import { Gate, model, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

const all = ['chat', 'read', 'write', 'jobs', 'approve']

it.each(Object.keys(doorKeys) as readonly DoorKey[])(
  'the key %s passes the doors that are open for it',
  async (name) => {
    const { id: tenant, key } = await newTenant(all)
    await call('PATCH', '/api/settings', { key, body: { roles: doorRoles } })
    const { scopes, ...more } = doorKeys[name]
    const own = await newKey(tenant, scopes, more)
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('x', gate), says('y'), says('z')]).id }, key)
    const running = call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    await gate.waitUntilReached()
    const passed: string[] = []
    for (const { name: door, method, path, body } of doors) {
      const { status } = await request(method, path(id), { key: own, ...(body !== undefined && { body }) })
      if (![400, 401, 403, 404, 409].includes(status)) passed.push(door)
    }
    gate.open()
    await running
    expect(passed).toEqual(doors.filter(({ open }) => open.includes(name)).map((door) => door.name))
  },
)
