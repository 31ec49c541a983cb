/** Builds the tool group of the turn's effects: runs calls with the approval policy of the turn. */

import type { ToolMessage } from '#agent/core/message.ts'
import type { Turn } from '#agent/core/turn.ts'
import type { ApprovalPolicy } from '#agent/policy/approval/approval.ts'
import type { Route } from '#agent/routing/route.ts'
import { getResultLimits } from '#tools/limit-result.ts'
import { askApprovalJudge, createApprovalPolicy } from './approval-policy.ts'
import type { ToolEffects } from './effects.ts'
import { createProgramLog } from './programs.ts'
import { turnAuthority } from './turn-authority.ts'
import { turnScope } from './tools/turn-scope.ts'
import type { TurnSession } from './turn-session.ts'

export const createToolEffects = (session: TurnSession, routesOf: (turn: Turn) => readonly Route[]): ToolEffects => ({
  schemas: () => session.toolRuntime.schemas(session.settings, turnScope(session)),
  run: (calls) =>
    session.toolRuntime.run(calls, {
      settings: session.settings,
      authority: turnAuthority(session),
      scope: turnScope(session),
      signal: session.driver.abortable().signal,
      runId: session.store.turn().id,
      transcript: session.store.transcript(),
      earlierResults: settledResults(session.store.turn()),
      resultLimits: getResultLimits(windowOf(session, routesOf(session.store.turn()))),
      seesImages: seesImages(session, routesOf(session.store.turn())),
      policy: () =>
        createApprovalPolicy(session.settings, session.meta, session.store.current(), limitsByRole(session)),
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

/** Roles count as they are when a call begins, which may be long after its batch did. */
function limitsByRole(session: TurnSession): Pick<ApprovalPolicy, 'maxRisk' | 'isTakenAway'> {
  const authority = turnAuthority(session)
  const { entitlements, maxRisk } = authority
  const hasTool = (tool: string) => session.toolRuntime.toolbox(session.settings, authority).has(tool)
  return { maxRisk, ...(entitlements && { isTakenAway: (tool) => !hasTool(tool) }) }
}

/** Lists the results that the batch has already. */
const settledResults = ({ stage }: Turn): readonly ToolMessage[] =>
  stage.at === 'tools' ? stage.calls.flatMap((call) => (call.state === 'settled' ? [call.result] : [])) : []

const windowOf = ({ store }: TurnSession, routes: readonly Route[]): number | undefined =>
  routes[store.turn().route.model]?.contextWindow

/** Whether the model is known to read images, and its provider has not refused those of this turn. */
function seesImages({ store }: TurnSession, routes: readonly Route[]): boolean {
  const { route, repairs } = store.turn()
  return routes[route.model]?.facts?.images === true && repairs.images === undefined
}
