/** Creates the state machine of a session: the pure loop with the session's store, effects and view. */

import { hasPdf, takesPdfs } from '#agent/providers/shared/pdf.ts'
import type { Machine } from '#agent/loop/drive.ts'
import type { View } from '#agent/core/ports.ts'
import type { Turn } from '#agent/core/turn.ts'
import type { Route } from '#agent/routing/route.ts'
import { getStalls } from '#durable/models/key-pool.ts'
import { createChain } from '#durable/models/model-routes.ts'
import { billInterrupted, highestCost } from '#durable/models/pricing.ts'
import type { SideCall } from '#durable/models/side-call.ts'
import { clock } from '#durable/platform/clock.ts'
import { withFreshTenant } from '#durable/tenant/session-tenant.ts'
import { contextTokens } from './context-tokens.ts'
import {
  type BillingEffects,
  type ChosenModel,
  createPerform,
  type StreamEffects,
  type ToolEffects,
} from './effects.ts'
import { loopLimits } from './loop-limits.ts'
import { createModelEffects } from './model-effects.ts'
import { createCompressibleTokens, defaultContextWindow, type Summariser } from './compression/summariser.ts'
import { withTrace } from './trace.ts'
import { isToolLost, turnScope } from './tools/turn-scope.ts'
import type { Risk } from '#agent/core/permission/approval.ts'
import { isRiskLost } from '#agent/core/permission/lost-rights.ts'
import type { TurnSession } from './turn-session.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { ArgumentsPreview } from './arguments-preview.ts'
import { DeltaBuffer } from './delta-buffer.ts'
import { noUsage, type Usage } from '#agent/core/usage.ts'
import { estimateTokens } from '#agent/prompt/estimate-tokens.ts'
import type { CallCost } from '#durable/tenant/billing/session-billing.ts'
import type { ToolMessage } from '#agent/core/message.ts'
import type { ApprovalPolicy } from '#agent/policy/approval/approval.ts'
import { getResultLimits } from '#tools/limit-result.ts'
import { askApprovalJudge, createApprovalPolicy } from './approval-policy.ts'
import { createProgramLog } from './programs.ts'
import { turnAuthority } from './turn-authority.ts'

export type TurnMachine = Machine & {
  readonly side: SideCall
  readonly summariser: Summariser
  /** The models of a turn, in order of preference. */
  readonly routesOf: (turn: Turn) => readonly Route[]
}

export function createTurnMachine(session: TurnSession, env: Env): TurnMachine {
  const model = createModelEffects(session, env)
  const perform = createPerform({
    model,
    tools: createToolEffects(session, model.routesOf),
    stream: createStreamEffects(session),
    billing: createBillingEffects(session),
  })
  return {
    get store() {
      return session.store
    },
    perform: withFreshTenant(session, withTrace(env, model.choose, perform)),
    view: () => createView(session, model.routesOf(session.store.turn()), env),
    side: model.side,
    summariser: model.summariser,
    routesOf: model.routesOf,
  }
}

/**
 * Everything that the pure loop may read besides the turn. A part is read with its first use, because most decisions look
 * at few of them. A view is used in the stretch in which it was taken, before anything changes.
 */
function createView(session: TurnSession, routes: readonly Route[], env: Env): View {
  const { store, toolRuntime, settings } = session
  const turn = store.turn()
  const route = routes[turn.route.model]
  const scope = readOnce(() => turnScope(session))
  const chain = readOnce(() => createChain(routes, session.tenantId, settings, turn))
  const tokens = readOnce(() => contextTokens(session))
  return {
    now: clock.now(),
    random: Math.random(),
    limits: loopLimits(settings),
    canShrinkImages: env.IMAGES !== undefined,
    contextWindow: route?.contextWindow ?? defaultContextWindow,
    lastSeq: store.lastMessageSeq(),
    isToolLost: (tool) => isToolLost(session, tool),
    selectConcurrent: (calls) => toolRuntime.together(calls, settings, scope()),
    compressibleTokens: createCompressibleTokens(session, route),
    get inbox() {
      return store.inbox()
    },
    get lastRole() {
      return store.lastRole()
    },
    get hasImages() {
      return store.hasImages()
    },
    get sendsPdfs() {
      return sendsPdfs(session, route)
    },
    get toolbox() {
      return toolRuntime.toolbox(settings, scope())
    },
    get stallsInARow() {
      return getStalls(session.tenantId, route?.id ?? '')
    },
    get messageCount() {
      return store.transcript().length
    },
    get contextTokens() {
      return tokens()
    },
    get chain() {
      return chain()
    },
    ...estimateSpending(session, turn, route),
  }
}

function readOnce<T>(read: () => T): () => T {
  let known: { readonly value: T } | undefined
  return () => (known ??= { value: read() }).value
}

/** Reads the spending limits that are reached or near, and the estimated cost of a call in flight in case its result is lost. */
function estimateSpending(
  session: TurnSession,
  turn: Turn,
  route: Route | undefined,
): Pick<View, 'limitReached' | 'limitWarning' | 'lostCall'> {
  const over = session.billing.reachedLimit(turn)
  // A summary in flight is a side call, which keeps its own note.
  const isInFlight = turn.stage.at === 'calling-model'
  return {
    ...(over && { limitReached: over }),
    limitWarning: session.billing.nearLimit(turn),
    ...(isInFlight && route && { lostCall: { usage: billInterrupted(estimateUsage(session, ''), { route }) } }),
  }
}

/** Builds the stream group of the turn's effects: buffers the deltas of a model call and emits them as events. */
function createStreamEffects(session: TurnSession): StreamEffects {
  const buffer = new DeltaBuffer((kind, text) => session.store.appendDelta(kind, text))
  const written = new ArgumentsPreview((event) => session.store.publishGenerating(event))
  return {
    generate: (tool, piece) => written.append(tool, piece),
    append: (delta) => {
      buffer.append(delta)
      void failpoint('mid-stream')
    },
    restart: (reason) => {
      buffer.discard()
      session.store.restartAnswer(reason)
    },
    end: ({ flush }) => {
      written.reset()
      if (flush) buffer.flush()
      else buffer.discard()
    },
  }
}

/** Builds the billing group of the turn's effects: estimates usage, reserves calls and reports them to the tenant. */
const createBillingEffects = (session: TurnSession): BillingEffects => ({
  estimate: (output) => estimateUsage(session, output),
  takeSideUsage: () => session.billing.claimSideCalls(session.store.current()),
  reserve: (turn, chosen) => session.billing.reserve(turn, estimateMostCost(session, turn, chosen)),
  report: (turn, usage) => session.billing.report(turn, usage),
})

/** Answers are rarely longer. A larger reservation would hold back calls that there is room for. */
const maxReservedOutput = 16_384

/** Estimates the most that a call can cost: its prompt and the longest answer. */
function estimateMostCost(
  session: TurnSession,
  { options, repairs }: Turn,
  { route, endpoint }: ChosenModel,
): CallCost {
  const requested = repairs.maxTokens ?? options.maxTokens ?? session.settings.model?.max_tokens
  const longest = requested ?? endpoint.quirks?.defaultMaxTokens ?? route.facts?.maxOutput ?? maxReservedOutput
  return highestCost(route, contextTokens(session), Math.min(longest, maxReservedOutput))
}

/** Estimates the usage of a call with this output. Its cost is unknown until prices are applied. */
const estimateUsage = (session: TurnSession, output: string): Usage => ({
  ...noUsage,
  input: contextTokens(session),
  output: estimateTokens(output),
  costStatus: 'unknown',
})

/** Builds the tool group of the turn's effects: runs calls with the approval policy of the turn. */
const createToolEffects = (session: TurnSession, routesOf: (turn: Turn) => readonly Route[]): ToolEffects => ({
  schemas: () => session.toolRuntime.schemas(session.settings, turnScope(session)),
  run: (calls) =>
    session.toolRuntime.run(calls, {
      settings: session.settings,
      authority: turnAuthority(session),
      scope: turnScope(session),
      signal: session.driver.abortable().signal,
      runId: session.store.turn().id,
      read: session.store.contextEntries(),
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
function limitsByRole(session: TurnSession): Pick<ApprovalPolicy, 'maxRisk' | 'isTakenAway' | 'isLost'> {
  const authority = turnAuthority(session)
  const { entitlements, contributors, maxRisk } = authority
  const hasTool = (tool: string) => session.toolRuntime.toolbox(session.settings, authority).has(tool)
  const isLost = (tool: string, risk: Risk) => isRiskLost(authority, risk) || isToolLost(session, tool)
  return { maxRisk, isLost, ...((entitlements ?? contributors) && { isTakenAway: (tool) => !hasTool(tool) }) }
}

/** Lists the results that the batch has already. */
const settledResults = ({ stage }: Turn): readonly ToolMessage[] =>
  stage.at === 'tools' ? stage.calls.flatMap((call) => (call.state === 'settled' ? [call.result] : [])) : []

function sendsPdfs({ store }: TurnSession, route: Route | undefined): boolean {
  const { repairs } = store.turn()
  const quirks = route?.endpoints[0]?.quirks ?? {}
  return route !== undefined && takesPdfs({ ...route, quirks, repairs }) && store.transcript().some(hasPdf)
}

const windowOf = ({ store }: TurnSession, routes: readonly Route[]): number | undefined =>
  routes[store.turn().route.model]?.contextWindow

/** Whether the model is known to read images, and its provider has not refused those of this turn. */
function seesImages({ store }: TurnSession, routes: readonly Route[]): boolean {
  const { route, repairs } = store.turn()
  return routes[route.model]?.facts?.images === true && repairs.images === undefined
}
