/** Tests that the quota of a tenant counts what it stores in D1 and R2, and counts nothing twice. */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { ownerAuthority } from '../../support/authority.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, bindings, call, type ErrorBody, newSession, newTenant } from '../../worker/client.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

let names = 0
const newObject = () => {
  const id = `storage-${++names}`
  return { id, stub: bindings.TENANT.getByName(`t/${id}`) }
}
const put = (tenantId: string, name: string, bytes: number) =>
  bindings.BLOBS!.put(`t/${tenantId}/${name}`, new Uint8Array(bytes))

it('counts objects in R2 that no session reports, once', async () => {
  const clock = createSkippingClock()
  replaceClock(clock)
  const { id, stub } = newObject()
  await put(id, 's/a/attachments/1', 6_000)
  await put(id, 's/a/files/1', 3_000)
  await put('storage-of-another', 's/a/attachments/1', 50_000)
  await stub.limits.set(ownerAuthority(), { storage_bytes: 10_000 })
  // 500 bytes of rows, and 3000 in R2.
  await stub.limits.setStoredBytes(ownerAuthority(), { sessionId: 'a', bytes: 3_500 })
  const admit = (bytes: number) => stub.limits.admitBytes(ownerAuthority(), bytes)
  const refusal = { ok: false, limit: 'storage_bytes' }
  /** The alarm may also ring by itself, at the same moment. */
  const ringUntil = (isDone: () => Promise<boolean>) =>
    until(async () => {
      await runDurableObjectAlarm(stub)
      return isDone()
    })
  expect(await admit(0)).toEqual({ ok: true })
  await ringUntil(async () => !(await admit(600)).ok)
  expect(await admit(400)).toEqual({ ok: true })
  expect(await admit(600)).toMatchObject(refusal)
  await put(id, 'exports/more', 600)
  clock.pass(900_000)
  await ringUntil(async () => !(await admit(0)).ok)
  expect(await admit(0)).toMatchObject(refusal)
  await stub.limits.setStoredBytes(ownerAuthority(), { sessionId: 'a', bytes: 0 })
  await bindings.BLOBS!.delete([`t/${id}/s/a/attachments/1`, `t/${id}/s/a/files/1`])
  clock.pass(900_000)
  await ringUntil(async () => (await admit(0)).ok)
})

it('counts history in D1, and refuses a turn over the limit', async () => {
  const tenant = await newTenant()
  const text = 'x'.repeat(300_000)
  const session = await newSession({ model: model([says(text)]).id }, tenant.key)
  const chat = (id: string) =>
    call<ErrorBody>('POST', `/api/sessions/${id}/chat`, { key: tenant.key, body: { input: 'go' } })
  await chat(session.id)
  const stored = 'SELECT count(*) AS n FROM page WHERE tenant_id = ? AND octet_length(body) > 200000'
  await until(async () => (await bindings.DB.prepare(stored).bind(tenant.id).first<{ n: number }>())?.n)
  await call('PATCH', `/api/admin/tenants/${tenant.id}`, { body: { limits: { storage_bytes: 250_000 } } })
  // No session has reported: only history is large.
  const other = await newSession({}, tenant.key)
  expect((await chat(other.id)).status).toBe(200)
  const refused = await until(async () => {
    await runDurableObjectAlarm(bindings.TENANT.getByName(`t/${tenant.id}`))
    const answer = await chat(other.id)
    return answer.status === 429 ? answer : undefined
  })
  expect(refused.body.error).toMatchObject({ code: 'limit_exceeded', param: 'storage_bytes' })
})

it('measures again only what has changed, and an idle tenant is never woken', async () => {
  const clock = createSkippingClock()
  replaceClock(clock)
  const { id, stub } = newObject()
  const owner = ownerAuthority()
  const report = (sessionId: string, bytes: number) => stub.limits.setStoredBytes(owner, { sessionId, bytes })
  const alarm = () => runInDurableObject(stub, (_object, { storage }) => storage.getAlarm())
  const measured = () =>
    runInDurableObject(stub, (_object, { storage }) => {
      const query = "SELECT body FROM kept WHERE name = 'shared bytes'"
      const [row] = storage.sql.exec<{ body: string }>(query).toArray()
      return row && (JSON.parse(row.body) as { blobs: number; isDue: boolean })
    })
  /** Lets the time of the next measurement come. */
  const settle = async () => {
    clock.pass(900_000)
    return until(async () => {
      await runDurableObjectAlarm(stub)
      const { blobs, isDue } = (await measured()) ?? { isDue: true }
      return !isDue && { blobs, alarm: await alarm() }
    })
  }
  await stub.limits.set(owner, { storage_bytes: 1_000_000 })
  expect(await alarm()).toBeNull()
  for (const session of ['a', 'b']) {
    await put(id, `s/${session}/attachments/1`, 100)
    await report(session, 10)
  }
  expect(await settle()).toEqual({ blobs: 200, alarm: null })
  clock.pass(30 * 86_400_000)
  expect(await runDurableObjectAlarm(stub)).toBe(false)
  // The weekly measurement of everything comes with the next activity.
  await report('a', 11)
  expect(await settle()).toEqual({ blobs: 200, alarm: null })
  for (const session of ['a', 'b']) await put(id, `s/${session}/attachments/2`, 100)
  await put(id, 'exports/1', 5)
  await report('a', 12)
  expect(await settle()).toEqual({ blobs: 305, alarm: null })
  await report('b', 12)
  expect(await settle()).toEqual({ blobs: 405, alarm: null })
  await report('a', 0)
  expect(await settle()).toEqual({ blobs: 205, alarm: null })
})

it('measures nothing without a limit', async () => {
  const { stub } = newObject()
  expect(await stub.limits.admitBytes(ownerAuthority(), 1)).toEqual({ ok: true })
  expect(await runDurableObjectAlarm(stub)).toBe(false)
})
