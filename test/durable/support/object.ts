/** The object of a session, and what can happen to it: eviction, death, an alarm, the loss of its storage. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { type UserMessage, userText } from '../../../src/agent/model/message.ts'
import { newRunId } from '../../../src/durable/platform/ids.ts'
import type { RequestCommand } from '../../../src/durable/session/intake/request.ts'
import type { SessionDO } from '../../../src/durable/session/session-object.ts'
import type { NewSession } from '../../../src/durable/storage/session-metadata.ts'
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

const anyTenant = { id: 'default', settings: {}, keys: {}, windows: {}, limits: {} }

/** A command as a request to the API makes it; the fields that are given win. */
export const requestCommand = (
  message: UserMessage | string,
  fields: Partial<RequestCommand> = {},
): RequestCommand => ({
  kind: 'request',
  runId: newRunId(),
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
