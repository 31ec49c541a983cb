/** RPC subject `conversations`: creates, reads and extends a session as a conversation of OpenAI's API. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Message } from '#agent/core/message.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import type { SessionHost } from '../session-host.ts'
import type { Entry } from '#agent/core/history.ts'
import { type ConversationItem, renderConversation } from '#agent/public-api/responses/stored-items.ts'
import { parseItemId } from '#agent/public-api/responses/item-ids.ts'
import { markRepeated } from '#agent/untrusted/result-marks.ts'
import { newRunId } from '#durable/platform/ids.ts'
import { importRunId } from '#durable/storage/journal.ts'
import { attachmentPrefix, storeMessageImages } from '#durable/workspace/attachments.ts'
import { recordContribution } from '../core/contributions.ts'
import type { Session } from '../session.ts'
import { undoTurns } from '../core/undo.ts'
import { readFiles } from '../intake/incoming-files.ts'
import { readItem, toStored } from '../views/read-response.ts'

export type ConversationLabels = Readonly<Record<string, string>>

export class OpenaiConversationSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  create(
    authority: Authority,
    tenant: TenantSnapshot,
    content: { readonly labels: ConversationLabels; readonly messages: readonly Message[] },
  ): Promise<ConversationView | undefined> {
    return this.#host.asCaller(authority, async () => {
      if (!this.#host.isOwn(authority)) return undefined
      const { session, env } = this.#host
      const { labels, messages } = content
      await session.tenant.update(tenant)
      session.create({ source: 'api' }, authority)
      session.updateMeta({ labels })
      if (messages.length) await appendMessages(session, { messages, by: authority }, env.BLOBS)
      await this.#host.view()
      return conversationView(session)
    })
  }

  get(authority: Authority): Promise<ConversationView | undefined> {
    return this.#host.with(authority, conversationView)
  }

  setLabels(authority: Authority, labels: ConversationLabels): Promise<ConversationView | undefined> {
    return this.#host.with(authority, (session) => {
      session.updateMeta({ labels })
      session.runInBackground(session.turns.project())
      return conversationView(session)
    })
  }

  /** The JSON of all items, oldest first. */
  items(authority: Authority): Promise<string | undefined> {
    return this.#host.with(authority, (session) => JSON.stringify(conversationItems(session)))
  }

  /** The JSON of the items of the added messages. Null while a turn is open. */
  append(authority: Authority, messages: readonly Message[]): Promise<string | null | undefined> {
    return this.#host.with(authority, async (session) => {
      const items = await appendMessages(session, { messages, by: authority }, this.#host.env.BLOBS)
      return items ? JSON.stringify(items) : null
    })
  }

  deleteItem(authority: Authority, id: string): Promise<'deleted' | 'kept' | undefined> {
    return this.#host.with(authority, (session) => deleteItem(session, id))
  }
}

type ConversationView = {
  readonly id: string
  readonly object: 'conversation'
  /** Seconds since 1970. */
  readonly created_at: number
  readonly metadata: Readonly<Record<string, string>>
}

/** Reads and extends a session as a conversation of OpenAI's API: its metadata and its items. */
const conversationView = ({ sessionId, meta }: Session): ConversationView => ({
  id: sessionId,
  object: 'conversation',
  created_at: Math.floor(meta.createdAt / 1_000),
  metadata: { ...meta.labels },
})

/** Oldest first. */
const conversationItems = (session: Session): readonly ConversationItem[] => itemsOf(session, entriesOf(session))

const entriesOf = ({ journal }: Session): readonly Entry[] =>
  [...journal.entriesNewestFirst()].toReversed().flatMap(({ entries }) => entries)

const itemsOf = (session: Session, entries: readonly Entry[]) =>
  renderConversation(entries.map((entry) => toStored(session, entry)))

/** Returns the items of the added messages. Undefined while a turn is open. */
async function appendMessages(
  session: Session,
  { messages, by }: { readonly messages: readonly Message[]; readonly by: Authority },
  blobs: R2Bucket | undefined,
): Promise<readonly ConversationItem[] | undefined> {
  const imagePrefix = attachmentPrefix(session.tenantId, session.sessionId)
  const placed = await Promise.all(messages.map((message) => storeMessageImages(message, blobs, imagePrefix)))
  const stored = await readFiles(session, newRunId(session.sessionId), placed, blobs)
  const { store } = session
  if (store.hasOpenTurn) return undefined
  const before = store.lastMessageSeq()
  session.updateMeta({})
  recordContribution(session, by)
  store.importRows(importRunId, stored.map(markRepeated))
  store.write()
  session.runInBackground(session.turns.project())
  return itemsOf(
    session,
    entriesOf(session).filter(({ seq }) => seq > before),
  )
}

/** Removes the last item that was added without an answer. */
function deleteAdded(session: Session, { seq, message }: Entry, id: string): 'deleted' | 'kept' {
  const items = itemsOf(session, entriesOf(session)).filter((item) => parseItemId(item.id ?? '')?.seq === seq)
  const [row] = session.journal.rowsNewestFirst()
  if (!row || items.at(-1)?.id !== id) return 'kept'
  const rest = row.entries.filter((entry) => entry.seq !== seq).map((entry) => entry.message)
  if (items.length > 1) rest.push({ ...message, content: message.content.slice(0, -1) } as Message)
  session.store.undo(row.n)
  session.updateMeta({ retractedFrom: Math.min(row.n, session.meta.retractedFrom ?? row.n) })
  if (rest.length) session.store.importRows(importRunId, rest)
  session.store.write()
  session.runInBackground(session.turns.project())
  return 'deleted'
}

/** Removes the turn of an item, or the item itself if no turn answers it. `kept`: it is not the last one, or a turn is open. Undefined: no such item. */
function deleteItem(session: Session, id: string): 'deleted' | 'kept' | undefined {
  if (!readItem(session, id)) return undefined
  if (session.store.hasOpenTurn) return 'kept'
  const last = entriesOf(session).at(-1)
  const turn = last ? session.journal.entriesOfRun(last.runId) : []
  if (last?.runId === importRunId) return deleteAdded(session, last, id)
  if (!itemsOf(session, turn).some((item) => item.id === id)) return 'kept'
  undoTurns(session, 1)
  return 'deleted'
}
