/** The end of a session: what runs is ended, and all that is kept of it outside its object is removed. */

import { d1History } from '../../db/history.ts'
import { settleRun } from '../turn/run-end.ts'
import type { Session } from './session.ts'
import { clock } from '../platform/clock.ts'

/** How long it waits for what still runs. */
const patienceMs = 2_000

/** Ends what runs and what waits to run, and lets go of whoever waits for it. From here on nothing is sent to history any more. */
export async function close(core: Session): Promise<void> {
  core.shut()
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
  store.unsay(queued.map(({ id }) => id))
  const run = core.stop() ? [store.turn().id] : []
  if (driver.isDriving) await Promise.race([driver.start(), clock.wait(patienceMs)])
  const others = [core.projection.settled(), core.toolRuntime.processes.killAll()]
  await Promise.race([Promise.all(others), clock.wait(patienceMs)])
  await Promise.all([...run, ...queued.map(({ item }) => item.runId)].map((id) => settleRun(core, id)))
  // An attempt before this one may have stopped the last run, and failed to give its place back.
  const last = store.current()
  if (last && !run.length) await core.billing.settle(last.id, undefined)
}

/** Removes what is kept outside the object: history, files, what waits for a person. Throws when that fails. */
export async function forget(core: Session, env: Env): Promise<void> {
  // What is still on its way would come after the end.
  await core.projection.settled()
  await d1History(env.DB, core.tenantId).forget(core.sessionId, core.projection.unsent())
  await core.toolRuntime.removeFiles()
  await core.waiting.clear()
  await core.billing.forget()
}
