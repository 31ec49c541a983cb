/** Delivers messages that nobody typed into a session, and starts turns with what waits once the session is idle. */

import { log } from '#agent/core/log.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { clock } from '#durable/platform/clock.ts'
import { newRunId } from '#durable/platform/ids.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import type { DeliveredMessage } from '#durable/storage/deliveries.ts'
import { hasWaiting, isIdle } from './intake/injected.ts'
import type { Session } from './session.ts'
import { submit } from './submit.ts'

/** `delivered`: the message is stored, and a part of the conversation as soon as the session is idle. */
export type DeliveryOutcome = 'delivered' | 'duplicate' | 'too-large'

/** Undefined when there is no such session for this authority. The message is durable before the promise resolves. */
export async function deliver(
  session: Session,
  authority: Authority,
  message: DeliveredMessage,
): Promise<DeliveryOutcome | undefined> {
  const outcome = await submitDelivery(session, { authority, message })
  if (!outcome) return undefined
  const { status } = outcome
  return status === 'duplicate' || status === 'too-large' ? status : 'delivered'
}

/** Polls the processes and submits what waits. An unreachable host or a defect of ours is logged: other work goes on. */
export async function pollProcesses(session: Session): Promise<void> {
  try {
    await session.toolRuntime.processes.pollAll()
    await submitWaiting(session)
  } catch (error) {
    if (isOwnReset(error)) throw error
    log.error('processes.unpolled', 'Polling the background processes failed.', { error })
  }
}

/** Continues paid media that are due, and delivers late results, once each. A failure is logged: the alarm tries again. */
export async function continueMedia(session: Session): Promise<void> {
  const { paidMedia } = session.toolRuntime
  if ((paidMedia.getNextWake() ?? Infinity) > clock.now()) return
  const authority = systemAuthority(session.tenantId, { kind: 'process', id: session.sessionId })
  try {
    for (const { key, text, confirm } of await paidMedia.continueDue()) {
      await deliver(session, authority, { key, source: 'process', text, startsTurn: true })
      confirm()
    }
  } catch (error) {
    if (isOwnReset(error)) throw error
    log.error('media.uncontinued', 'Paid media could not be continued.', { error })
  }
}

/** Starts a turn with what waits. */
async function submitWaiting(session: Session): Promise<void> {
  if (!isIdle(session) || !(hasWaiting(session) || session.deliveries.waiting().length)) return
  const authority = systemAuthority(session.tenantId, { kind: 'process', id: session.sessionId })
  await submitDelivery(session, { authority })
}

/** The pause while the tenant's object cannot be reached. */
const unreachableRetrySeconds = 60

/** While a limit refuses the turn, what waits stays stored, and the alarm tries again. */
async function submitDelivery(
  session: Session,
  delivery: { readonly authority: Authority; readonly message?: DeliveredMessage },
) {
  const runId = newRunId(session.sessionId)
  const isStored = () => delivery.message === undefined || session.deliveries.has(delivery.message.key)
  const outcome = await submit(session, { kind: 'injected', runId, ...delivery }).catch((error: unknown) => {
    if (!session.exists || !isStored()) throw error
    return { runId, status: 'over-limit' as const, retryAfter: unreachableRetrySeconds }
  })
  if (outcome?.status === 'over-limit') session.turns.postponeDeliveries(outcome.retryAfter * 1_000)
  return outcome
}
