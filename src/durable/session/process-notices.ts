/** Starts a turn with the notices of background processes, once the session is idle. */

import { log } from '../../agent/model/log.ts'
import { actAs } from '../../agent/model/authority.ts'
import { newRunId } from '../platform/ids.ts'
import { isOwnReset } from '../platform/object-reset.ts'
import { turnAuthority } from '../turn/turn-authority.ts'
import type { Session } from './session.ts'
import { isIdle } from './intake/process-notice.ts'
import { submit } from './submit.ts'

/** Polls the processes and submits their notices. An unreachable host or a defect of ours is logged: other work goes on. */
export async function pollProcesses(session: Session): Promise<void> {
  try {
    await session.toolRuntime.processes.pollAll()
    await submitNotices(session)
  } catch (error) {
    if (isOwnReset(error)) throw error
    log.error('processes.unpolled', 'Polling the background processes failed.', {
      error,
      tenant_id: session.tenantId,
      session_id: session.sessionId,
    })
  }
}

/** The pause while the tenant's object cannot be reached. */
const unreachableRetrySeconds = 60

/** Submits the notices. While a limit refuses the turn, they wait. */
async function submitNotices(session: Session): Promise<void> {
  const { processes } = session.toolRuntime
  if (!isIdle(session) || !processes.hasNotice()) return
  // The process has the rights of the turn that was last here, and no person who could have given others.
  const authority = actAs(turnAuthority(session), { kind: 'process', id: session.sessionId })
  const command = { kind: 'process-notice' as const, authority, runId: newRunId(session.sessionId) }
  const outcome = await submit(session, command).catch(() => ({
    status: 'over-limit' as const,
    retryAfter: unreachableRetrySeconds,
  }))
  if (outcome?.status === 'over-limit') processes.postponeNotice(outcome.retryAfter * 1_000)
}
