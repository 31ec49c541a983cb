/** What an alarm of a session does, after it was armed anew: look after whatever is due. */

import { lookAfterProcesses } from './process-notices.ts'
import type { Session } from './session.ts'
import { leaseMs, segmentMs } from '../platform/schedule.ts'
import { clock } from '../platform/clock.ts'

export async function lookAfter(core: Session, storage: DurableObjectStorage): Promise<void> {
  const sent = core.delivery.start()
  if (!(await core.known.canBeKnown())) return
  if (!core.isQuiet && core.store.hasOpenTurn) core.move()
  else if (!core.isQuiet) core.release()
  await lookAfterProcesses(core)
  const lookAt = core.toolRuntime.processes.lookAt(false) ?? Infinity
  const patience = Math.max(leaseMs, Math.min(segmentMs, lookAt - clock.now()))
  // Riding along keeps the object in memory; before the platform's limit a fresh alarm takes over.
  if (core.driver.isDriving) await within(patience, core.driver.start())
  if (core.delivery.isSending) await within(patience, sent)
  if (core.driver.isDriving) await storage.setAlarm(clock.now())
  else if (core.isQuiet) core.arm()
  else await core.project()
}

/** A timer that is left over would keep the object in memory. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  const patience = new AbortController()
  const late = clock.wait(ms, { signal: patience.signal }).catch(() => undefined)
  await Promise.race([work, late])
  patience.abort()
}
