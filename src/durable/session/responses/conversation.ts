/** Reads and extends a session as a conversation of OpenAI's API: its metadata and its items. */

import type { Entry } from '#agent/core/history.ts'
import type { Message } from '#agent/core/message.ts'
import { type ConversationItem, renderConversation } from '#agent/public-api/responses/stored-items.ts'
import { importRunId } from '#durable/storage/journal.ts'
import { storeMessage } from '../intake/request.ts'
import type { Session } from '../session.ts'
import { undoTurns } from '../undo.ts'
import { readItem, toStored } from './read-response.ts'

export type ConversationView = {
  readonly id: string
  readonly object: 'conversation'
  /** Seconds since 1970. */
  readonly created_at: number
  readonly metadata: Readonly<Record<string, string>>
}

export const conversationView = ({ sessionId, meta }: Session): ConversationView => ({
  id: sessionId,
  object: 'conversation',
  created_at: Math.floor(meta.createdAt / 1_000),
  metadata: { ...meta.labels },
})

/** Oldest first. */
export const conversationItems = (session: Session): readonly ConversationItem[] => itemsOf(session, entriesOf(session))

const entriesOf = ({ journal }: Session): readonly Entry[] =>
  [...journal.entriesNewestFirst()].toReversed().flatMap(({ entries }) => entries)

const itemsOf = (session: Session, entries: readonly Entry[]) =>
  renderConversation(entries.map((entry) => toStored(session, entry)))

/** Returns the items of the added messages. Undefined while a turn is open. */
export async function appendMessages(
  session: Session,
  messages: readonly Message[],
  blobs: R2Bucket | undefined,
): Promise<readonly ConversationItem[] | undefined> {
  const stored = await Promise.all(messages.map((message) => storeMessage(session, message, blobs)))
  const { store } = session
  if (store.hasOpenTurn) return undefined
  const before = store.lastMessageSeq()
  session.updateMeta({})
  store.importMessages(importRunId, stored)
  store.write()
  session.runInBackground(session.turns.project())
  return itemsOf(
    session,
    entriesOf(session).filter(({ seq }) => seq > before),
  )
}

/** Removes the turn of an item. `kept`: it is not in the last turn, or a turn is open. Undefined: no such item. */
export function deleteItem(session: Session, id: string): 'deleted' | 'kept' | undefined {
  if (!readItem(session, id)) return undefined
  if (session.store.hasOpenTurn) return 'kept'
  const last = entriesOf(session).at(-1)
  const turn = last ? session.journal.entriesOfRun(last.runId) : []
  if (last?.runId === importRunId || !itemsOf(session, turn).some((item) => item.id === id)) return 'kept'
  undoTurns(session, 1)
  return 'deleted'
}
