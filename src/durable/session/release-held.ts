/** Lets held messages take effect: when their time has come, or because something follows that is not held. */

import { clock } from '#durable/platform/clock.ts'
import { mergeHeld } from './intake/hold-message.ts'
import type { Session } from './session.ts'
import { submit } from './submit.ts'

/** Rejects when the messages could not be accepted now: they stay held. */
export async function releaseHeld(session: Session): Promise<void> {
  for (let merged = mergeHeld(session); merged; merged = session.exists ? mergeHeld(session) : undefined) {
    const outcome = await submit(session, merged)
    if (!outcome) return
    // Nothing has taken the messages: they would come again for ever.
    session.chatOutbox.inboundEvents.release(merged.releases ?? [])
    session.runInBackground(session.chatOutbox.media.discard(merged.media))
  }
}

/** Called by the alarm. A failed release is tried again: the messages stay held. */
export async function releaseDue(session: Session): Promise<void> {
  const at = session.exists ? session.chatOutbox.inboundEvents.getNextWake() : undefined
  if (at !== undefined && at <= clock.now()) await releaseHeld(session)
}
