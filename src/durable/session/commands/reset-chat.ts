/** Begins a new conversation in a chat when the settings say so. It is looked at with the next message, so that a silent chat costs nothing. */

import { defaultSettings } from '#agent/core/settings.ts'
import { isResetDue, type ResetPolicy } from '#agent/schedule/session-reset.ts'
import { clock } from '#durable/platform/clock.ts'
import { beginConversation } from '#durable/storage/conversation-span.ts'
import { isUnused } from '../self-started/self-start-timer.ts'
import type { Session } from '../session.ts'

const notice =
  'A new conversation begins, because the earlier one has ended by the settings of this chat. It stays in the history.'

/** `own`: the policy of the channel, which counts before that of the tenant. Files, the goal, the heartbeat and the loop stay. Nothing is reset while the session works. */
export function resetIfDue(session: Session, own?: ResetPolicy): void {
  const { meta, store, settings, toolRuntime } = session
  const policy = own ?? settings.session_reset ?? {}
  const isEmpty = store.lastMessageSeq() <= (meta.earlierThrough ?? 0)
  const isWorking = !isUnused(session) || meta.goal?.state.at === 'active' || meta.goal?.state.at === 'waiting'
  if (isEmpty || isWorking) return
  const isBusy = toolRuntime.processes.list().some(({ state }) => state.at === 'running')
  const zone = settings.timezone ?? defaultSettings.timezone
  if (!isResetDue(policy, { lastActivityAt: session.record().updatedAt, now: clock.now(), zone, isBusy })) return
  session.updateMeta({
    title: null,
    grants: [],
    todos: [],
    prompt: undefined,
    promptRecord: undefined,
    ...beginConversation(meta, { lastSeq: store.lastMessageSeq(), now: clock.now() }),
  })
  store.dropContext()
  session.delivery.sendNotice(notice)
}
