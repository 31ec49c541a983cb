/**
 * What background processes have to say becomes a turn, once the session is idle. Nobody has asked for that turn at
 * the door, so the limits of the tenant are asked here; while they say no, the news wait.
 */

import type { SessionBilling } from '../tenant/session-billing.ts'
import type { Driver } from '../turn/driver.ts'
import { isOwnReset } from '../platform/object-reset.ts'
import { newRunId } from '../platform/ids.ts'
import type { TurnRequest } from '../turn/next-turn.ts'
import type { SessionProcesses } from '../processes/process-registry.ts'
import type { SessionStore } from '../storage/store.ts'

type Listening = {
  readonly store: SessionStore
  readonly toolRuntime: { readonly processes: SessionProcesses }
  readonly billing: SessionBilling
  readonly driver: Driver
  readonly isClosing: boolean
  readonly begin: (request: TurnRequest) => void
  readonly release: (runId: string) => void
}

/** Looks how they stand. A machine that cannot be asked, and a defect of ours, are no reason to look after nothing else. */
export async function lookAfterProcesses(session: Listening): Promise<void> {
  try {
    await session.toolRuntime.processes.lookAtAll()
    await tell(session)
  } catch (error) {
    if (isOwnReset(error)) throw error
    console.error('Looking after background processes failed.', error)
  }
}

async function tell(session: Listening): Promise<void> {
  const { processes } = session.toolRuntime
  if (!isIdle(session) || !processes.hasNews()) return
  const runId = newRunId()
  if (!(await session.billing.admit(runId).catch(() => false))) return processes.putOff()
  // Somebody may have said something meanwhile; then the news come behind that.
  const message = isIdle(session) ? processes.take() : undefined
  // It counts as told with the write that opens the turn: both are in one stretch.
  if (message) session.begin({ runId, message, options: session.store.current()?.options ?? {} })
  else session.release(runId)
}

/** A drive that comes to its end may still open what is queued. */
const isIdle = ({ store, driver, isClosing }: Listening) => !store.hasOpenTurn && !driver.isDriving && !isClosing
