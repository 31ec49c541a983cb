/** Applies the press of a button under the message of a pending request. */

import type { ApprovalAnswer } from '#agent/core/permission/approval.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { parseButtonData } from '#durable/channels/pending-request-message.ts'
import { findPending, isQuestion } from '#durable/turn/pending-requests.ts'
import type { Session } from './session.ts'

export type Press = { readonly authority: Authority; readonly data: string }

/** The text shown to the person who pressed, and the new text of the message, if it changes. */
export type PressAnswer = { readonly toast: string; readonly ends?: string }

export type PressEffects = {
  readonly answer: (request: string, answer: string) => Promise<boolean | undefined>
  readonly decide: (request: string, answer: ApprovalAnswer) => Promise<string | undefined>
}

const expired: PressAnswer = { toast: 'Expired: this is not waiting for an answer any more.' }

/** Only the person who asked, or an admin, may answer. A late or second press is answered "expired". */
export async function pressButton(session: Session, press: Press, effects: PressEffects): Promise<PressAnswer> {
  const button = findButton(session, press.data)
  if (!button) return expired
  const { asks, text, choice } = button
  if (!mayAnswer(press.authority, asks.person)) return { toast: 'Only who asked, or an admin, may answer this.' }
  const pending = findPending(session, asks.request)
  if (!pending) return expired
  const outcome = isQuestion(pending)
    ? await effects.answer(asks.request, choice)
    : await effects.decide(asks.request, { decision: choice as ApprovalAnswer['decision'] })
  if (outcome === 'role') return { toast: 'Your role does not allow calls like this. You may deny it.' }
  if (outcome === 'policy') return { toast: 'Only an admin may allow this always.' }
  return outcome === true || outcome === 'decided'
    ? { toast: `Taken: ${choice}`.slice(0, 190), ends: `${text}\n\n→ ${choice}` }
    : expired
}

const mayAnswer = ({ principal }: Authority, asker: string | undefined): boolean =>
  principal.kind === 'person' && (principal.isAdmin || principal.person === asker)

/** The outbox row that shows the button, and the choice that the button stands for. */
function findButton(session: Session, data: string) {
  const pressed = parseButtonData(data)
  const row = pressed && session.delivery.outbox.get(pressed.row)
  const choice = row?.asks?.choices[pressed?.choice ?? -1]
  return row?.asks && choice !== undefined ? { asks: row.asks, text: row.chunk.text, choice } : undefined
}
