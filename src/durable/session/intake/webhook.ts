/**
 * Submits what a generic webhook delivered. Each delivery has a session of its own, whose id follows from the delivery:
 * a repeated one finds it.
 */

import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { ChatOrigin } from '#agent/core/delivery.ts'
import { userText } from '#agent/core/message.ts'
import { clock } from '#durable/platform/clock.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import type { Session } from '../session.ts'
import type { Intake } from './intake.ts'

export type WebhookSubmission = {
  readonly kind: 'webhook'
  readonly authority: Authority
  /** The same for every delivery of the same event. */
  readonly key: string
  readonly runId: string
  readonly title: string
  readonly text: string
  /** The chat that gets the answer. */
  readonly deliverTo?: ChatOrigin
  readonly tenant: TenantSnapshot
}

export function webhookIntake(session: Session, submission: WebhookSubmission): Intake {
  const { key, runId, title, text, authority, deliverTo: origin, tenant } = submission
  const { inboundEvents } = session.chatOutbox
  return {
    runId,
    open: async () => {
      await session.tenant.update(tenant)
      if (session.turns.isClosing) return false
      return session.exists || (await session.load()) ? 'exists' : 'new'
    },
    findOutcome: () => (inboundEvents.has(key) ? { runId, status: 'duplicate' } : undefined),
    create: () => session.create({ source: 'webhook', title, origin }, authority),
    compose: () => {
      inboundEvents.record(key, clock.now())
      return { message: userText(text, 'webhook'), options: { authority: combineAuthorities([authority]) } }
    },
    join: () => ({ runId, status: 'duplicate' }),
  }
}
