/** The object of a session, and what can happen to it: eviction, death, an alarm, the loss of its storage. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import type { SessionDO } from '../../../src/durable/session/session-object.ts'
import type { BilledRows } from '../../support/billed-rows.ts'
import { bindings } from '../../worker/client.ts'

export const objectOf = (sessionId: string, tenantId = 'default') =>
  bindings.SESSION.getByName(`t/${tenantId}/s/${sessionId}`)

export const inObject = <R>(
  sessionId: string,
  look: (object: SessionDO, state: DurableObjectState) => R | Promise<R>,
) => runInDurableObject<SessionDO, R>(objectOf(sessionId), look)

/** Quietly: memory is gone, whoever still asks something gets an answer first. */
export const evict = (sessionId: string) => evictDurableObject(objectOf(sessionId))

/** The object dies where it stands: to storage, the same as a killed process. Who waited for it gets an error. */
export async function kill(sessionId: string): Promise<void> {
  await inObject(sessionId, (_object, state) => state.abort('killed by a test')).catch(() => undefined)
}

/** Fires the alarm now. False when none is set. */
export const ring = (sessionId: string) => runDurableObjectAlarm(objectOf(sessionId))

export const alarmOf = (sessionId: string) => inObject(sessionId, (_object, state) => state.storage.getAlarm())

/** The storage is gone, as after a loss of the object; its memory goes with it. */
export async function wipe(sessionId: string): Promise<void> {
  await inObject(sessionId, async (_object, { storage }) => {
    await storage.deleteAlarm()
    await storage.deleteAll()
  })
  await kill(sessionId)
}

/** Rows that storage and D1 billed since the object woke. */
export const billedRows = (sessionId: string) =>
  inObject(sessionId, (object) => (object as SessionDO & { readonly billedRows: () => BilledRows }).billedRows())

export const countRows = (sessionId: string, table: string) =>
  inObject(
    sessionId,
    (_object, { storage }) => storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n,
  )
