/**
 * Holds a message for a moment, because the person may be writing another one: both are then one message. A message with
 * files is held until they are read, so that the platform gets its answer before.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import { parseCommand } from '#agent/policy/slash-command/parse-command.ts'
import { clock } from '#durable/platform/clock.ts'
import { isWaitingForCaller } from '#durable/turn/pending-requests.ts'
import type { Session } from '../session.ts'
import type { InboundSubmission } from './inbound.ts'
import type { Submitted } from './intake.ts'

/** A person who never stops writing is answered after all. */
const maxHeld = 20

/** Commands, answers to what a turn waits for, and messages that were held are not held. */
export function canHold(session: Session, submission: InboundSubmission): boolean {
  const { burstMs = 0, media = [], releases, text } = submission
  if (releases) return false
  if (media.length) return true
  if (parseCommand(text)) return false
  // A message that follows a file in its chat is read together with it.
  if (hasHeldMedia(session)) return true
  if (burstMs <= 0) return false
  const { store } = session
  return !(store.hasOpenTurn && isWaitingForCaller(store.turn().stage))
}

const hasHeldMedia = ({ chatOutbox }: Session): boolean =>
  chatOutbox.inboundEvents.held().some(({ body }) => (JSON.parse(body) as InboundSubmission).media !== undefined)

/** The parts of an album arrive one after another. */
const albumPauseMs = 1_500

/** Undefined when the message takes effect at once. */
export function holdMessage(session: Session, submission: InboundSubmission): Submitted | undefined {
  const { inboundEvents } = session.chatOutbox
  if (!canHold(session, submission) || inboundEvents.held().length >= maxHeld) return undefined
  const { tenant: _tenant, ...held } = submission
  const now = clock.now()
  if (session.journal.isBlank) session.updateMeta({})
  const until = now + Math.max(submission.burstMs ?? 0, submission.albumId === undefined ? 0 : albumPauseMs)
  inboundEvents.hold({ key: submission.key, until, body: JSON.stringify(held) }, now)
  session.arm()
  return { runId: submission.runId, status: 'stored' }
}

/** The messages of one person that follow each other, as one message. */
export function mergeHeld(session: Session): InboundSubmission | undefined {
  const held = session.chatOutbox.inboundEvents.held().map(({ body }) => JSON.parse(body) as InboundSubmission)
  const [first] = held
  if (!first) return undefined
  const other = held.findIndex(({ asker }) => asker.person !== first.asker.person)
  const together = other < 0 ? held : held.slice(0, other)
  const { media: _media, ...last } = together.at(-1) ?? first
  const media = together.flatMap((one) => one.media ?? [])
  return {
    ...last,
    ...(media.length > 0 && { media }),
    ...(together.some(({ isForeign }) => isForeign) && { isForeign: true as const }),
    authority: combineAuthorities([last.authority, ...together.map(({ authority }) => authority)]),
    key: first.key,
    runId: first.runId,
    text: together
      .map(({ text }) => text)
      .filter(Boolean)
      .join('\n'),
    releases: together.map(({ key }) => key),
  }
}

export type HeldEdit = { readonly text: string; readonly by: Authority }

/** Changes the text of a held message. False when no such message is held. */
export function editHeld({ chatOutbox: { inboundEvents } }: Session, messageId: string, edit: HeldEdit): boolean {
  for (const { key, until, body } of inboundEvents.held()) {
    const held = JSON.parse(body) as InboundSubmission
    if (held.asker.message !== messageId) continue
    const authority = combineAuthorities([held.authority, edit.by])
    inboundEvents.replaceHeld({ key, until, body: JSON.stringify({ ...held, text: edit.text, authority }) })
    return true
  }
  return false
}
