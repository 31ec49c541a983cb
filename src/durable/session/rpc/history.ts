/** RPC subject `conversation`: lists messages and events, undoes turns and compacts the context. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '#agent/core/permission/authority.ts'
import { compressNow, type CompressResult } from '../core/compress.ts'
import type { MessageView } from '../views/api-views.ts'
import { getMessage, listMessages, type MessageList, type MessagePage } from '../views/list-messages.ts'
import { type EventPage, eventsAfter } from '../views/read-session.ts'
import { type UndoResult, undoFromRun, undoTurns } from '../core/undo.ts'
import { rateAnswer } from '../core/ratings.ts'
import { chooseVersion, keepVersion, listVersions, type VersionGroup } from '../core/versions.ts'
import { type ClaimedAnswer, type ConversationMatch, matchConversation } from '../views/match-conversation.ts'
import type { SessionHost } from '../session-host.ts'
import { decodeBase64Bytes } from '#agent/core/base64.ts'
import type { ImagePart } from '#agent/core/message.ts'
import { loadImage } from '#durable/workspace/attachments.ts'
import type { Session } from '../session.ts'
import { blobPrefix } from '#durable/platform/addresses.ts'

export class HistorySubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  messages(authority: Authority, page: MessagePage): Promise<MessageList | undefined> {
    return this.#host.with(authority, (session) => listMessages(session, page))
  }

  /** Null when the conversation has no such message. */
  message(authority: Authority, seq: number): Promise<MessageView | null | undefined> {
    return this.#host.with(authority, (session) => getMessage(session, seq) ?? null)
  }

  /** Replaces the rating of an answer. Undefined removes it. */
  rate(
    authority: Authority,
    seq: number,
    rating: { readonly value: 'good' | 'bad'; readonly note?: string } | undefined,
  ): Promise<'rated' | 'missing' | undefined> {
    return this.#host.with(authority, (session) => rateAnswer(session, seq, rating && { ...rating, authority }))
  }

  /** Null when no message shows such an image. */
  attachment(authority: Authority, id: string): Promise<Attachment | null | undefined> {
    return this.#host.with(
      authority,
      async (session) => (await readAttachment(session, id, this.#host.env.BLOBS)) ?? null,
    )
  }

  /** The events behind the one with the number `after`. */
  events(authority: Authority, after: number): Promise<EventPage | undefined> {
    return this.#host.with(authority, (session) => eventsAfter(session, after))
  }

  /**
   * Removes the last n turns, or a run and all behind it, and returns their user messages. False while a turn is open.
   * `isReplaced`: they stay reachable as a version.
   */
  undo(authority: Authority, last: number | string, isReplaced = false): Promise<UndoResult | false | undefined> {
    return this.#host.with(authority, (session) => {
      if (session.store.hasOpenTurn) return false
      const keep = isReplaced ? keepVersion : undefined
      return typeof last === 'number' ? undoTurns(session, last, keep) : undoFromRun(session, last, keep)
    })
  }

  /** Ends the last answer after what a person has heard of it. */
  cutAnswer(authority: Authority, heard: string): Promise<boolean | undefined> {
    return this.#host.with(authority, async (session) => {
      const { cutAnswer } = await import('../core/cut-answer.ts')
      return cutAnswer(session, heard)
    })
  }

  /** The parts of the conversation that have versions. */
  versions(authority: Authority): Promise<readonly VersionGroup[] | undefined> {
    return this.#host.with(authority, listVersions)
  }

  /** Replaces the current one by a version. */
  chooseVersion(authority: Authority, id: string): Promise<'busy' | 'missing' | 'chosen' | undefined> {
    return this.#host.with(authority, (session) => {
      if (session.store.hasOpenTurn) return 'busy'
      return chooseVersion(session, id) ? 'chosen' : 'missing'
    })
  }

  /** The place at which a client's conversation continues, if a run said what the client repeats. */
  match(
    authority: Authority,
    runId: string,
    segment: number,
    claimed: ClaimedAnswer,
  ): Promise<ConversationMatch | undefined> {
    return this.#host.with(authority, (session) => matchConversation(session, { runId, segment, claimed }))
  }

  /** The hash of conversation and files when a run had ended. Null when they cannot be compared. */
  stateAfter(authority: Authority, runId: string): Promise<string | null | undefined> {
    return this.#host.with(authority, async (session) => {
      const { hashState } = await import('../copies/state-hash.ts')
      return (await hashState(session, runId)) ?? null
    })
  }

  /** Compacts the context: now between turns, else before the next model call. */
  compress(authority: Authority, focus?: string): Promise<CompressResult | undefined> {
    return this.#host.with(authority, (session) => compressNow(session, { by: authority, focus }))
  }
}

type Attachment = { readonly mediaType: string; readonly bytes: Uint8Array }

/** `id`: the id of the message, a dot and the number of the part. Undefined for an unknown one, and for an image that is an address or is no longer stored. */
async function readAttachment(
  { journal, tenantId }: Session,
  id: string,
  blobs: R2Bucket | undefined,
): Promise<Attachment | undefined> {
  const [, seq, part] = /^msg_(\d{1,15})\.(\d{1,4})$/.exec(id) ?? []
  if (seq === undefined) return undefined
  const [row] = journal.entriesNewestFirst(Number(seq) + 1)
  const message = row?.entries.find((entry) => entry.seq === Number(seq))?.message
  const image = message?.role === 'assistant' ? undefined : message?.content[Number(part)]
  if (image?.type !== 'image' || image.mediaType.endsWith(';url')) return undefined
  const data = await loadImage(image satisfies ImagePart, blobs, blobPrefix(tenantId))
  return data === undefined ? undefined : { mediaType: image.mediaType, bytes: decodeBase64Bytes(data) }
}
