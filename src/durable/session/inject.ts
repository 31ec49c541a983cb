/** Delivers messages that nobody typed into a session, and starts turns with what waits once the session is idle. */

import { noMarks } from '#agent/core/marks.ts'
import { leastAuthority } from '#durable/turn/turn-authority.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { actAs, systemAuthority } from '#agent/core/permission/authority.ts'
import { clock } from '#durable/platform/clock.ts'
import { newRunId } from '#durable/platform/ids.ts'
import type { InjectedMessage } from '#durable/storage/injected-messages.ts'
import { hasWaiting, isIdle } from './intake/injected.ts'
import type { Session } from './session.ts'
import { submit } from './submit.ts'

/** `delivered`: the message is stored, and a part of the conversation as soon as the session is idle. */
export type InjectionOutcome = 'delivered' | 'duplicate' | 'too-large'

/** Undefined when there is no such session for this authority. The message is durable before the promise resolves. */
export async function inject(
  session: Session,
  authority: Authority,
  message: InjectedMessage,
): Promise<InjectionOutcome | undefined> {
  const outcome = await submitInjected(session, { authority, message })
  if (!outcome) return undefined
  const { status } = outcome
  return status === 'duplicate' || status === 'too-large' ? status : 'delivered'
}

/** Continues paid media that are due, and injects late results, once each. */
export async function continueMedia(session: Session): Promise<void> {
  const { paidMedia } = session.toolRuntime
  if ((paidMedia.getNextWake() ?? Infinity) > clock.now()) return
  for (const { key, text, by, confirm } of await paidMedia.continueDue()) {
    await inject(session, actAs(by ?? leastAuthority(session), { kind: 'process', id: session.sessionId }), {
      key,
      source: 'process',
      text,
      startsTurn: true,
      marks: noMarks,
    })
    confirm()
  }
}

/** Starts a turn with what waits. */
export async function submitWaiting(session: Session): Promise<void> {
  if (!isIdle(session) || !(hasWaiting(session) || session.injected.waiting().length)) return
  const authority = systemAuthority(session.tenantId, { kind: 'process', id: session.sessionId })
  await submitInjected(session, { authority })
}

/** The pause while the tenant's object cannot be reached. */
const unreachableRetrySeconds = 60

/** While a limit refuses the turn, what waits stays stored, and the alarm tries again. */
async function submitInjected(
  session: Session,
  delivery: { readonly authority: Authority; readonly message?: InjectedMessage },
) {
  const runId = newRunId(session.sessionId)
  const isStored = () => delivery.message === undefined || session.injected.has(delivery.message.key)
  const outcome = await submit(session, { kind: 'injected', runId, ...delivery }).catch((error: unknown) => {
    if (!session.exists || !isStored()) throw error
    return { runId, status: 'over-limit' as const, retryAfter: unreachableRetrySeconds }
  })
  if (outcome?.status === 'over-limit') session.turns.postponeInjection(outcome.retryAfter * 1_000)
  return outcome
}
