/** Defines a pending request as the tenant's object lists it. */

import type { PersonRequest } from '#agent/core/pending-request.ts'

/** A request with the ids by which API and channels answer it. */
export type PendingItem = PersonRequest & {
  readonly id: string
  readonly session_id: string
  readonly run_id: string
  readonly call_id: string
  /** The chat of the session, as `chatName` writes it. */
  readonly chat?: string
  /** The person of the chat who is asked. */
  readonly person?: string
}
