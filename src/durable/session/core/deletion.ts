/** Ends a session that is being deleted, and deletes its data outside the object. */

import { createAuditEvent } from '#agent/core/permission/audit.ts'
import { openHistory } from '#db/history.ts'
import { settleRun } from '#durable/turn/run-end.ts'
import type { Session } from '../session.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { clock } from '#durable/platform/clock.ts'
import { withTimeout } from '#durable/platform/timeout.ts'

/** The maximum time that a deletion waits for running work. */
const endTimeoutMs = 2_000

/** Stops the open turn and drops queued ones, then ends all streams. Nothing is sent to history from here on. */
export async function endSession(session: Session): Promise<void> {
  session.turns.close()
  session.chatOutbox.close()
  try {
    await endRuns(session)
  } finally {
    session.streams.end()
  }
}

async function endRuns(session: Session): Promise<void> {
  await session.ensureTenant()
  const { store, driver } = session
  const queued = store.queued()
  store.removeFromInbox(queued.map(({ id }) => id))
  const run = session.turns.stop() ? [store.turn().id] : []
  if (driver.isDriving) await withTimeout(driver.start(), endTimeoutMs, () => undefined)
  const { processes, browser } = session.toolRuntime
  const others = [session.projection.settled(), processes.killAll(), browser.close('its session was deleted')]
  await withTimeout(Promise.all(others), endTimeoutMs, () => undefined)
  await Promise.all([...run, ...queued.map(({ item }) => item.runId)].map((id) => settleRun(session, id)))
  // An earlier attempt may have stopped the last run without releasing its slot.
  const last = store.current()
  if (last && !run.length) await session.billing.settle(last.id, undefined)
}

/** Deletes the data outside the object: history, files, pending requests, storage usage. Throws on failure. */
export async function deleteOutside(session: Session, env: Env, actor?: string): Promise<void> {
  // A projection in flight would write after the deletion.
  await session.projection.settled()
  const { tenantId, sessionId } = session
  const event = { at: clock.now(), kind: 'session.deleted', subject: sessionId, sessionId } as const
  const audit = actor === undefined ? undefined : createAuditEvent({ ...event, actor })
  await openHistory(env, tenantId).deleteSession(sessionId, session.projection.unsentTurns(), audit)
  if (session.tenant.snapshot?.settings.search?.embedding_model)
    await tenantStub(env, tenantId).recall.forget(session.ownAuthority, sessionId)
  await session.subagents.deleteAll()
  await session.toolRuntime.removeFiles()
  if (session.meta.hasTrajectories) await session.trajectories.delete()
  await session.pendingList.clear()
  await session.announcer.removed(actor !== undefined)
  await session.billing.releaseStorage()
}
