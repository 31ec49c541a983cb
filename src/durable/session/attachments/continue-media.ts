/** Goes on with paid media when it is time, and delivers late results into the conversation, once each. */

import { log } from '#agent/core/log.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { clock } from '#durable/platform/clock.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { deliver } from '../deliver.ts'
import type { Session } from '../session.ts'

/** A failure is logged: other work goes on, and the alarm tries again. */
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
