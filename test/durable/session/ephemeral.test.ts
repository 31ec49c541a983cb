/** Tests that an ephemeral session deletes itself, even if the request that created it fails. */

import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { outage } from '../../support/outage.ts'
import { Gate, model, says, until } from '../../support/scripted-model.ts'
import { call, applyMigrations } from '../../worker/client.ts'
import { alarmOf, evict, inObject, kill, objectOf, fireAlarm } from '../support/object.ts'
import { ownerAuthority } from '../../support/authority.ts'

beforeAll(applyMigrations)
afterEach(() => {
  outage.restore()
  vi.restoreAllMocks()
})

type Listed = { readonly data: readonly { readonly id: string; readonly parent_id: string | null }[] }
const branchesOf = async (parent: string) =>
  (await call<Listed>('GET', '/api/sessions')).body.data.filter((session) => session.parent_id === parent)
const statusOf = async (id: string) => (await call('GET', `/api/sessions/${id}`)).status

/** A minute has gone by since whatever happened last. */
async function later(id: string): Promise<void> {
  await inObject(id, (_object, { storage: { sql } }) => {
    const at = Date.now() - 60_000
    sql.exec("UPDATE step SET entries = json_set(entries, '$.createdAt', ?) WHERE n = 0", at)
    sql.exec("UPDATE step SET turn = json_set(turn, '$.stage.endedAt', ?) WHERE turn IS NOT NULL", at)
  })
  await evict(id)
}

/** A branch that is not stored, whose object dies under the request. */
async function abandoned() {
  const gate = new Gate()
  const name = model([says('One.'), says(gate, 'Two.'), says('Two again.')]).id
  const first = await call<{ id: string }>('POST', '/v1/responses', { body: { model: name, input: 'one' } })
  const kept = first.headers.get('x-talaria-session-id') ?? ''
  const body = { model: name, input: 'two', previous_response_id: first.body.id, store: false }
  const lost = call('POST', '/v1/responses', { body })
  await gate.waitUntilReached()
  const { id } = await until(async () => (await branchesOf(kept))[0])
  outage.isOverloaded = true
  await kill(id)
  expect((await lost).status).toBe(503)
  outage.isOverloaded = false
  await fireAlarm(id)
  await until(async () => (await objectOf(id).info.status(ownerAuthority())) === 'idle')
  return { id, kept }
}

describe('a response that is not stored, and whose request broke', () => {
  it('stays for a minute, and then goes with all that history has of it', async () => {
    vi.spyOn(console, 'error').mockReturnValue()
    const { id, kept } = await abandoned()
    expect(await fireAlarm(id)).toBe(true)
    expect([await statusOf(id), await alarmOf(id)]).toEqual([200, expect.any(Number)])
    await later(id)
    await fireAlarm(id)
    expect([await statusOf(id), await alarmOf(id)]).toEqual([404, null])
    expect([await branchesOf(kept), await statusOf(kept)]).toEqual([[], 200])
  })

  itInTurn('goes when history is back, if that is away', async () => {
    vi.spyOn(console, 'error').mockReturnValue()
    vi.spyOn(console, 'warn').mockReturnValue()
    const { id } = await abandoned()
    await later(id)
    outage.isDatabaseDown = true
    await fireAlarm(id)
    expect(await alarmOf(id)).toEqual(expect.any(Number))
    outage.restore()
    await fireAlarm(id)
    expect(await statusOf(id)).toBe(404)
  })
})

it('one without a turn goes too, and a copy of it stays', async () => {
  const snapshot = { id: 'default', settings: {}, limits: {}, keys: {}, windows: {} }
  await objectOf('alone').info.create(ownerAuthority(), { ephemeral: true }, snapshot)
  const { body } = await call<{ id: string }>('POST', '/api/sessions/alone/fork', { body: {} })
  for (const id of ['alone', body.id]) await later(id)
  expect([await fireAlarm('alone'), await fireAlarm(body.id)]).toEqual([true, false])
  expect([await statusOf('alone'), await statusOf(body.id)]).toEqual([404, 200])
})
