/** The end of a session: what runs is ended, and all that is kept of it outside its object is removed. */

import { createD1History } from '../../db/history.ts'
import { settleRun } from '../turn/run-end.ts'
import type { Session } from './session.ts'
import { clock } from '../platform/clock.ts'

/** How long it waits for what still runs. */
const patienceMs = 2_000

/** Ends what runs and what waits to run, and lets go of whoever waits for it. From here on nothing is sent to history any more. */
export async function endSession(core: Session): Promise<void> {
  core.turns.close()
  core.delivery.close()
  try {
    await endAll(core)
  } finally {
    core.streams.end()
  }
}

async function endAll(core: Session): Promise<void> {
  await core.ensureTenant()
  const { store, driver } = core
  const queued = store.queued()
  store.removeFromInbox(queued.map(({ id }) => id))
  const run = core.turns.stop() ? [store.turn().id] : []
  if (driver.isDriving) await Promise.race([driver.start(), clock.wait(patienceMs)])
  const others = [core.projection.settled(), core.toolRuntime.processes.killAll()]
  await Promise.race([Promise.all(others), clock.wait(patienceMs)])
  await Promise.all([...run, ...queued.map(({ item }) => item.runId)].map((id) => settleRun(core, id)))
  // An attempt before this one may have stopped the last run, and failed to give its place back.
  const last = store.current()
  if (last && !run.length) await core.billing.settle(last.id, undefined)
}

/** Removes what is kept outside the object: history, files, what waits for a person. Throws when that fails. */
export async function deleteOutside(core: Session, env: Env): Promise<void> {
  // What is still on its way would come after the end.
  await core.projection.settled()
  await createD1History(env.DB, core.tenantId).deleteSession(core.sessionId, core.projection.unsentTurns())
  await core.toolRuntime.removeFiles()
  await core.pendingList.clear()
  await core.billing.releaseStorage()
}
