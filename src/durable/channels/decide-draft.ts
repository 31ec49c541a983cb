/** Sends an answer in the name of a person, changes it or drops it, as they decide. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { createDelivery } from '#agent/policy/delivery-attempt.ts'
import { clock } from '#durable/platform/clock.ts'
import type { TurnSession } from '#durable/turn/turn-session.ts'
import type { ChatOutbox } from './chat-outbox.ts'
import type { OutboxRow } from './outbox.ts'

type DraftSession = Pick<TurnSession, 'meta' | 'runInBackground' | 'arm'> & { readonly chatOutbox: ChatOutbox }

/** Returns what the person is shown, and the new text of the message where it ends. The buttons count once. */
export function decideDraft(
  session: DraftSession,
  { principal }: Authority,
  { row, choice }: { readonly row: OutboxRow; readonly choice: string },
): { readonly toast: string; readonly ends?: string } {
  const { asks, chunk, run } = row
  const { meta, chatOutbox } = session
  const { onBehalf } = meta.origin ?? {}
  if (!asks?.draft || !onBehalf || principal.kind !== 'person' || principal.person !== asks.person)
    return { toast: 'Only the person in whose name this is sent may choose here.' }
  if (choice === 'Edit') return { toast: 'Reply to this draft with what to change.' }
  chatOutbox.outbox.update({ ...row, asks: { ...asks, choices: [] } })
  if (choice === 'Send') {
    const to = { chat: onBehalf.chat, inNameOf: onBehalf.connection }
    const source = { text: asks.draft, format: 'markdown' } as const
    const deliveryState = createDelivery(clock.now())
    chatOutbox.outbox.add({ run, kind: 'notice', deliveryState, chunk: { text: '', spans: [] }, source, to })
    session.runInBackground(chatOutbox.start())
    session.arm()
  }
  return { toast: choice, ends: `${chunk.text}\n\n→ ${choice}` }
}
