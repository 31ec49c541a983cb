/** Tests that an object which newer code has written is left alone by code that cannot read it. */

import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, expect, it } from 'vitest'
import { tenantStub } from '#durable/platform/addresses.ts'
import { schemaVersion } from '#durable/platform/schema-version.ts'
import { readSessionSchema } from '#durable/storage/journal.ts'
import { applyMigrations, call } from '../../worker/client.ts'
import { evict, inObject } from '../support/object.ts'

const newer = { version: schemaVersion.version + 2, readableFrom: schemaVersion.version + 1 }
const next = { version: schemaVersion.version + 1, readableFrom: schemaVersion.version }

beforeAll(applyMigrations)

type Versioned = { readonly version: number; readonly readableFrom: number }

const newSession = async (): Promise<string> =>
  (await call<{ id: string }>('POST', '/api/sessions', { body: {} })).body.id
const writeVersion = (id: string, schema: Versioned) =>
  inObject(id, (_object, { storage }) => {
    storage.sql.exec(
      "UPDATE step SET entries = json_set(entries, '$.schema', json(?)) WHERE n = 0",
      JSON.stringify(schema),
    )
  })
const get = (id: string) => call('GET', `/api/sessions/${id}`)

it('a session stores the version of the code that wrote it', async () => {
  const id = await newSession()
  const stored = await inObject(id, (_object, { storage }) => readSessionSchema(storage.sql))
  expect(stored).toEqual(schemaVersion)
})

it('a session of the next release is read, and one of a release after it is 503 until code can read it', async () => {
  const id = await newSession()
  await writeVersion(id, next)
  await evict(id)
  expect((await get(id)).status).toBe(200)
  await writeVersion(id, newer)
  await evict(id)
  const refused = await get(id)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
})

it('a tenant stores it once', async () => {
  for (const timezone of ['UTC', 'Asia/Tokyo']) await call('PATCH', '/api/settings', { body: { timezone } })
  const stored = await runInDurableObject(tenantStub(env, 'default'), (_object, { storage }) =>
    storage.sql.exec<{ body: string }>("SELECT body FROM kept WHERE name = 'schema'").toArray(),
  )
  expect(stored.map(({ body }) => JSON.parse(body) as unknown)).toEqual([schemaVersion])
})
