/** Makes delivered messages that need no answer a part of the conversation, as runs that are over. */

import { allMarks } from '#agent/core/marks.ts'
import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import { notice, userText } from '#agent/core/message.ts'
import { newRunId } from '#durable/platform/ids.ts'
import { sessionUsage } from '#durable/storage/session-record.ts'
import { joinConversation, recordContribution } from './contributions.ts'
import type { Session } from '../session.ts'

/** No turn may be open. Returns whether there were any. */
export function appendInjected(session: Session): boolean {
  const { sessionId, store, injected } = session
  const due = injected.waiting().filter(({ startsTurn }) => !startsTurn)
  for (const one of due) {
    injected.markTaken([one])
    const { options: earlier = {} } = store.current() ?? {}
    const authority = joinConversation(session, combineAuthorities([one.authority]))
    recordContribution(session, one.authority)
    const options = { ...earlier, authority }
    // Two user messages never follow each other.
    const messages = [userText(one.text, one.source, one.marks ?? allMarks), notice('Received. It needs no answer.')]
    const usageBefore = sessionUsage(session.meta, store)
    store.openTurn(newRunId(sessionId), messages, { options, limit: 0, usageBefore, outcome: 'delivered' })
    store.write()
  }
  return due.length > 0
}
