/** Reads what the open or last turn of a session holds. */

import type { Marks } from '#agent/core/marks.ts'
import type { Message } from '#agent/core/message.ts'
import type { Turn } from '#agent/core/turn.ts'
import type { ToolRuntime } from './tool-runtime.ts'
import { turnAuthority } from './turn-authority.ts'
import type { TurnSession } from './turn-session.ts'

/** The stored messages that models get. Assembled ones are joined, and their marks and sources with them. */
export const readMessages = ({ store }: Pick<TurnSession, 'store'>): readonly Message[] =>
  store.contextEntries().map(({ message }) => message)

export const turnMarks = (session: TurnSession, { id }: Pick<Turn, 'id'>): ReturnType<ToolRuntime['marks']> =>
  session.toolRuntime.marks({ id, authority: turnAuthority(session), transcript: readMessages(session) })

/** For what the session hands on: a report, an answer, a message to a subagent. */
export function sessionMarks(session: TurnSession): Marks {
  const turn = session.store.current()
  return turn ? turnMarks(session, turn).now() : {}
}
