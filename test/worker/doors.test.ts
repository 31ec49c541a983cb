/** Tests what each kind of key can do at each door: with a session of another key, with jobs, media, memory and settings. */

import { beforeAll, beforeEach, expect, it } from 'vitest'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { pngBytes } from '../backends/media/fixtures.ts'
import { doorKeys, doorRoles, doors, type DoorKey } from '../support/doors.ts'
import { sentTo, vendors } from '../support/media-vendors.ts'
import { Gate, model, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request } from './client.ts'
import { turnDoors } from '../support/turn-doors.ts'

beforeAll(applyMigrations)
// The door of images is judged by its vendor's answer, which files before this one script as they need it.
beforeEach(() => vendors.begin(() => Response.json({ data: [{ b64_json: encodeBase64Bytes(pngBytes('fox')) }] })))

const all = ['chat', 'read', 'write', 'jobs', 'approve']

/** The headers of the page after signing in with the key. */
async function signIn(key: string): Promise<Readonly<Record<string, string>>> {
  const ours = { 'sec-fetch-site': 'same-origin' }
  const { headers } = await call('POST', '/api/login', { key: null, headers: ours, body: { key } })
  return { ...ours, cookie: headers.get('set-cookie')?.split(';')[0] ?? '' }
}

it('the doors of turns are those of keys', () => expect(Object.keys(turnDoors)).toEqual(doors.map(({ name }) => name)))

it.each(Object.keys(doorKeys) as readonly DoorKey[])(
  'the key %s passes the doors that are open for it',
  async (name) => {
    const { id: tenant, key } = await newTenant(all)
    await call('PATCH', '/api/settings', { key, body: { roles: doorRoles } })
    const { scopes, ...more } = { hasCookie: false, ...doorKeys[name] }
    const { hasCookie, ...role } = more
    const own = await newKey(tenant, scopes, role)
    const sender = hasCookie ? { key: null, headers: await signIn(own) } : { key: own }
    const { id: withGoal } = await newSession({}, key)
    await call('PUT', `/api/sessions/${withGoal}/goal`, { key, body: { text: 'x', state: 'draft' } })
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('x', gate), says('y'), says('z')]).id }, key)
    const running = call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    await gate.waitUntilReached()
    const passed: string[] = []
    for (const { name: door, method, path, body } of doors) {
      const { status } = await request(method, path(id, withGoal), { ...sender, ...(body !== undefined && { body }) })
      if (![400, 401, 403, 404, 409].includes(status)) passed.push(door)
    }
    gate.open()
    await running
    const open = doors.filter((door) => door.open.includes(name)).map((door) => door.name)
    expect(passed).toEqual(open)
    expect(sentTo('/images/')).toHaveLength(open.includes('make an image') ? 1 : 0)
  },
)
