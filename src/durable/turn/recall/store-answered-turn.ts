/** Hands answered turns of people to the memory service of their tenant. */

import { isRunEnd, type SessionEvent } from '#agent/core/event.ts'
import { textIn } from '#agent/core/message.ts'
import { storeTurnOutside } from './outside-memory.ts'
import type { TurnSession } from '../turn-session.ts'

/** Requests of jobs, processes and notices are no words of a person. */
export function storeAnsweredTurn(session: TurnSession, env: Env, events: readonly SessionEvent[]): void {
  if (session.settings.memory?.provider === undefined) return
  const end = events.find(isRunEnd)
  if (end?.type !== 'run.completed') return
  const asked = session.store.transcript().findLast((message) => message.role === 'user')
  if (!asked || (asked.role === 'user' && asked.source)) return
  const turn = { user: textIn(asked), assistant: end.output }
  storeTurnOutside(session, env, { authority: session.asker(), turn })
}
