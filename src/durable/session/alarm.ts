/** What an alarm of a session does, after it was armed anew: look after whatever is due. */

import { lookAfterProcesses } from './process-notices.ts'
import type { SessionCore } from './session.ts'
import { leaseMs, segmentMs } from '../platform/schedule.ts'

export async function lookAfter(core: SessionCore, storage: DurableObjectStorage): Promise<void> {
  const sent = core.delivery.start()
  if (!(await core.known.canBeKnown())) return
  if (!core.isQuiet && core.store.hasOpenTurn) core.move()
  else if (!core.isQuiet) core.release()
  await lookAfterProcesses(core)
  const lookAt = core.workbench.processes.lookAt(false) ?? Infinity
  const patience = Math.max(leaseMs, Math.min(segmentMs, lookAt - Date.now()))
  // Riding along keeps the object in memory; before the platform's limit a fresh alarm takes over.
  if (core.driver.isDriving) await within(patience, core.driver.start())
  if (core.delivery.isSending) await within(patience, sent)
  if (core.driver.isDriving) await storage.setAlarm(Date.now())
  else if (core.isQuiet) core.arm()
  else await core.project()
}

/** A timer that is left over would keep the object in memory. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const patience = new AbortController()
  const late = scheduler.wait(ms, { signal: patience.signal }).catch(() => undefined)
  await Promise.race([work, late])
  patience.abort()
}
