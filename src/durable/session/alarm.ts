/** Handles the alarm of a session: resumes its turn, sends due messages and polls background processes. */

import { clock } from '#durable/platform/clock.ts'
import { leaseMs, segmentMs } from '#durable/platform/schedule.ts'
import { releaseDue } from './release-held.ts'
import { continueMedia } from './attachments/continue-media.ts'
import { pollProcesses } from './deliver.ts'
import { runSelfStarted } from './self-started/run-self-started.ts'
import type { Session } from './session.ts'
import { withTimeout } from '#durable/platform/timeout.ts'

const giveUp = (): void => undefined

/** Nothing is started while the tenant is suspended. Answers still leave while it cannot be reached. */
export async function handleAlarm(session: Session): Promise<void> {
  const { turns, driver, delivery, store, toolRuntime } = session
  const isTenantKnown = await session.tenant.tryLoad()
  if (isTenantKnown && (await session.access.pausesAlarm())) return
  const sent = delivery.start()
  if (!isTenantKnown) return
  await releaseDue(session)
  if (!turns.isSettled && store.hasOpenTurn) turns.resume()
  else if (!turns.isSettled) turns.settle()
  await pollProcesses(session)
  await continueMedia(session)
  await toolRuntime.browser.closeIdle()
  await withTimeout(session.subagents.handleDriverStop(), leaseMs, giveUp)
  await runSelfStarted(session)
  const processesAt = toolRuntime.processes.getNextWake(false) ?? Infinity
  const timeoutMs = Math.max(leaseMs, Math.min(segmentMs, processesAt - clock.now()))
  // Waiting for the driver keeps the object in memory; before the platform's limit a fresh alarm takes over.
  if (driver.isDriving) await withTimeout(driver.start(), timeoutMs, giveUp)
  if (delivery.isSending) await withTimeout(sent, timeoutMs, giveUp)
  if (driver.isDriving) await turns.rearm(clock.now())
  else if (turns.isSettled) turns.arm()
  else await turns.project()
}
