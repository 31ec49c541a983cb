/** Sends a text to the chat of a session by its outbox, once for each key. */

import type { ChatNotice, NoticeState } from '#durable/tenant/jobs/session-port.ts'
import type { Session } from '../session.ts'

/** Undefined when the session is not that of this chat. A chat that has no session yet gets one. */
export async function notifyChat(session: Session, { key, chat, text }: ChatNotice): Promise<NoticeState | undefined> {
  if (session.turns.isClosing) return undefined
  await session.ensureTenant()
  if (!session.exists) {
    session.create({ source: chat.platform, origin: chat })
    session.updateMeta({})
  }
  const { origin } = session.meta
  if (origin?.connection !== chat.connection) return undefined
  const { delivery } = session
  if (!delivery.outbox.listByRun(key).length) delivery.sendNotice(text, key, { format: 'markdown' })
  return stateOf(delivery.outbox.listByRun(key).map(({ custody }) => custody))
}

type Custody = ReturnType<Session['delivery']['outbox']['listByRun']>[number]['custody']

function stateOf(parts: readonly Custody[]): NoticeState {
  if (parts.some(({ state }) => state === 'prepared' || state === 'sending')) return { kind: 'sending' }
  const failed = parts.find(({ state }) => state !== 'sent')
  return failed ? { kind: 'failed', error: failed.error ?? failed.state } : { kind: 'sent' }
}
