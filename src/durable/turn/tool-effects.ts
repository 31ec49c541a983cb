/** Builds the tool group of the turn's effects: runs calls with the approval policy of the turn. */

import { textIn } from '../../agent/model/message.ts'
import type { Turn } from '../../agent/model/turn.ts'
import type { Route } from '../../agent/routing/route.ts'
import { askApprovalJudge, createApprovalPolicy } from './approval-policy.ts'
import type { ToolEffects } from './effects.ts'
import { createProgramLog } from './programs.ts'
import { turnAuthority } from './turn-authority.ts'
import type { TurnSession } from './turn-session.ts'

export const createToolEffects = (session: TurnSession, routesOf: (turn: Turn) => readonly Route[]): ToolEffects => ({
  schemas: () => session.toolRuntime.schemas(session.settings, turnAuthority(session)),
  run: (calls) =>
    session.toolRuntime.run(calls, {
      settings: session.settings,
      authority: turnAuthority(session),
      signal: session.driver.abortable().signal,
      runId: session.store.turn().id,
      usedChars: settledChars(session.store.turn()),
      seesImages: seesImages(session, routesOf(session.store.turn())),
      policy: () => createApprovalPolicy(session.settings, session.meta, session.store.current()),
      judge: (call) => askApprovalJudge(session, call),
      onProgress: ({ callId, tool, delta, parent }) =>
        session.store.publishProgress({
          type: 'tool.progress',
          call_id: callId,
          tool,
          delta,
          ...(parent !== undefined && { parent_call_id: parent }),
        }),
      programs: createProgramLog(
        () => session.store,
        () => session.driver.view(),
      ),
    }),
})

/** Counts the characters of the results that the batch has already. */
const settledChars = ({ stage }: Turn): number =>
  stage.at === 'tools'
    ? stage.calls.reduce((sum, call) => sum + (call.state === 'settled' ? textIn(call.result).length : 0), 0)
    : 0

/** Whether the model is known to read images, and its provider has not refused those of this turn. */
function seesImages({ store }: TurnSession, routes: readonly Route[]): boolean {
  const { route, repairs } = store.turn()
  return routes[route.model]?.facts?.images === true && repairs.images === undefined
}
