/** What an alarm of a session does, after it was armed anew: look after whatever is due. */

import { lookAfterProcesses } from './process-news.ts'
import type { SessionCore } from './session-core.ts'
import { leaseMs, segmentMs } from './wake.ts'

export async function lookAfter(core: SessionCore, storage: DurableObjectStorage): Promise<void> {
  const sent = core.delivery.start()
  if (!(await core.knowsTenant())) return
  if (!core.isQuiet && core.store.hasOpenTurn) core.move()
  else if (!core.isQuiet) core.release()
  await lookAfterProcesses(core)
  const lookAt = core.workbench.processes.lookAt(false) ?? Infinity
  const patience = Math.max(leaseMs, Math.min(segmentMs, lookAt - Date.now()))
  // Riding along keeps the object in memory; before the platform's limit a fresh alarm takes over.
  if (core.driver.isDriving) await Promise.race([core.driver.start(), scheduler.wait(patience)])
  if (core.delivery.isSending) await Promise.race([sent, scheduler.wait(patience)])
  if (core.driver.isDriving) await storage.setAlarm(Date.now())
  else if (core.isQuiet) core.arm()
  else await core.project()
}
