/** Hands answered turns of people to the memory service of their tenant. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { isRunEnd, type SessionEvent } from '#agent/core/event.ts'
import { type Message, textIn } from '#agent/core/message.ts'
import { type RememberingSession, storeTurnOutside } from './outside-memory.ts'

type AnsweredSession = RememberingSession & {
  readonly asker: () => Authority
  readonly store: { readonly transcript: () => readonly Message[] }
}

/** Requests of jobs, processes and notices are no words of a person. */
export function storeAnsweredTurn(session: AnsweredSession, env: Env, events: readonly SessionEvent[]): void {
  if (session.settings.memory?.provider === undefined) return
  const end = events.find(isRunEnd)
  if (end?.type !== 'run.completed') return
  const asked = session.store.transcript().findLast((message) => message.role === 'user')
  if (!asked || (asked.role === 'user' && asked.source)) return
  const turn = { user: textIn(asked), assistant: end.output }
  storeTurnOutside(session, env, { authority: session.asker(), turn })
}
