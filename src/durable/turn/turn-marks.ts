/** Reads what the open or last turn of a session holds. */

import type { Marks } from '#agent/core/marks.ts'
import type { Turn } from '#agent/core/turn.ts'
import type { ToolRuntime } from './tool-runtime.ts'
import { turnAuthority } from './turn-authority.ts'
import type { TurnSession } from './turn-session.ts'

export const turnMarks = (session: TurnSession, { id }: Pick<Turn, 'id'>): ReturnType<ToolRuntime['marks']> =>
  session.toolRuntime.marks({ id, authority: turnAuthority(session), read: session.store.contextEntries() })

/** For what the session hands on: a report, an answer, a message to a subagent. */
export function sessionMarks(session: TurnSession): Marks {
  const turn = session.store.current()
  return turn ? turnMarks(session, turn).now() : {}
}
