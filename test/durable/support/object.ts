/** Evicts, kills and wipes the object of a session, fires its alarm, and counts its rows. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { type UserMessage, userText } from '#agent/core/message.ts'
import type { Turn } from '#agent/core/turn.ts'
import { newRunId } from '#durable/platform/ids.ts'
import type { RequestSubmission } from '#durable/session/intake/request.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import type { NewSession } from '#durable/storage/session-metadata.ts'
import { ownerAuthority } from '../../support/authority.ts'
import type { BilledRows } from '../../support/billed-rows.ts'
import { bindings } from '../../worker/client.ts'

export const objectOf = (sessionId: string, tenantId = 'default') =>
  bindings.SESSION.getByName(`t/${tenantId}/s/${sessionId}`)

export const inObject = <R>(
  sessionId: string,
  work: (object: SessionDO, state: DurableObjectState) => R | Promise<R>,
) => runInDurableObject<SessionDO, R>(objectOf(sessionId), work)

/** Evicts the object: pending calls are answered first, then its memory is lost. */
export const evict = (sessionId: string) => evictDurableObject(objectOf(sessionId))

/** Aborts the object at once, like a killed process. Pending calls fail. */
export async function kill(sessionId: string): Promise<void> {
  await inObject(sessionId, (_object, state) => state.abort('killed by a test')).catch(() => undefined)
}

/** Fires the alarm now. False when none is set. */
export const fireAlarm = (sessionId: string) => runDurableObjectAlarm(objectOf(sessionId))

export const alarmOf = (sessionId: string) => inObject(sessionId, (_object, state) => state.storage.getAlarm())

/** Deletes the storage and the memory of the object. */
export async function wipe(sessionId: string): Promise<void> {
  await inObject(sessionId, async (_object, { storage }) => {
    await storage.deleteAlarm()
    await storage.deleteAll()
  })
  await kill(sessionId)
}

/** Makes the storage of a session refuse the events of platforms, until `acceptEventsAgain`. */
export const refuseEvents = (object: DurableObjectStub) =>
  runInDurableObject(object, (_object, { storage: { sql } }) => {
    sql.exec('CREATE TABLE heard (key TEXT PRIMARY KEY, at INTEGER NOT NULL, said TEXT) WITHOUT ROWID')
    sql.exec("CREATE TRIGGER refused BEFORE INSERT ON heard BEGIN SELECT RAISE(ABORT, 'refused by a test'); END")
  })

/** The object dies, because it remembers the table. */
export async function acceptEventsAgain(object: DurableObjectStub): Promise<void> {
  await runInDurableObject(object, (_object, { storage }) => void storage.sql.exec('DROP TABLE heard'))
  await runInDurableObject(object, (_object, state) => state.abort('killed by a test')).catch(() => undefined)
}

/** Rows that storage and D1 billed since the object was created. */
export const billedRows = (sessionId: string) =>
  inObject(sessionId, (object) => (object as SessionDO & { readonly billedRows: () => BilledRows }).billedRows())

export const countRows = (sessionId: string, table: string) =>
  inObject(
    sessionId,
    (_object, { storage }) => storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n,
  )

/** The last turn that the object has stored. */
export const turnOf = (sessionId: string, tenantId?: string) =>
  runInDurableObject<SessionDO, Turn>(objectOf(sessionId, tenantId), (_object, { storage: { sql } }) => {
    const [row] = sql.exec<{ turn: string }>('SELECT turn FROM step ORDER BY n DESC LIMIT 1').toArray()
    return JSON.parse(row!.turn) as Turn
  })

const anyTenant = { id: 'default', settings: {}, keys: {}, windows: {}, limits: {} }

/** Creates the command of an API request; given fields override the defaults. */
export const requestCommand = (
  message: UserMessage | string,
  fields: Partial<RequestSubmission> = {},
): RequestSubmission => ({
  kind: 'request',
  authority: ownerAuthority(),
  runId: newRunId('test'),
  message: typeof message === 'string' ? userText(message) : message,
  options: {},
  busyMode: undefined,
  idempotency: 'none',
  target: { kind: 'existing' },
  tenant: anyTenant,
  ...fields,
})

/** The target of a command that creates its session. */
export const creating = (spec: NewSession) => ({ kind: 'create', spec, history: [], isNewId: false }) as const
