/** Chooses the events that are worth a push message. It carries ids and the title of the session, nothing that was said. */

import type { TenantEvent } from '../events/tenant-event.ts'
import { isClientSource } from '#agent/core/client-source.ts'

export type PushNotice = {
  readonly kind: 'approval' | 'question' | 'completed' | 'failed'
  readonly session_id: string
  readonly run_id: string
  /** Of the approval or the question. */
  readonly id?: string
  readonly title?: string | null
}

export function listNotices(events: readonly TenantEvent[]): readonly PushNotice[] {
  const changed = new Map(events.flatMap((event) => (event.type === 'session.changed' ? [[event.id, event]] : [])))
  return events.flatMap((event): readonly PushNotice[] => {
    if (event.type === 'approval.request') return [{ kind: 'approval', id: event.approval_id, ...listIds(event) }]
    if (event.type === 'question.request') return [{ kind: 'question', id: event.question_id, ...listIds(event) }]
    if (event.type !== 'run.ended' || event.status === 'cancelled') return []
    const session = changed.get(event.session_id)
    // Chats of channels get their answers there.
    if (!session || !isClientSource(session.source)) return []
    return [{ kind: event.status, ...listIds(event), title: session.title }]
  })
}

const listIds = ({ session_id, run_id }: { readonly session_id: string; readonly run_id: string }) => ({
  session_id,
  run_id,
})
