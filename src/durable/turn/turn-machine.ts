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
import { isToolLost, type ToolScope, turnScope } from './tools/turn-scope.ts'
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
    view: () => new SessionView(session, model.routesOf(session.store.turn()), env),
    side: model.side,
    summariser: model.summariser,
    routesOf: model.routesOf,
  }
}

/**
 * Everything that the pure loop may read besides the turn. A part is read with its first use, because most decisions look
 * at few of them. A view is used in the stretch in which it was taken, before anything changes. It is a class because a
 * literal would define every getter again for each of the four views of a step.
 */
class SessionView implements View {
  readonly now = clock.now()
  readonly random = Math.random()
  readonly lastSeq: number
  readonly #session: TurnSession
  readonly #env: Env
  readonly #routes: readonly Route[]
  readonly #route: Route | undefined
  readonly #turn: Turn
  #scope: ToolScope | undefined
  #chain: View['chain'] | undefined
  #tokens: number | undefined

  constructor(session: TurnSession, routes: readonly Route[], env: Env) {
    this.#session = session
    this.#env = env
    this.#routes = routes
    this.#turn = session.store.turn()
    this.#route = routes[this.#turn.route.model]
    this.lastSeq = session.store.lastMessageSeq()
  }

  readonly isToolLost = (tool: string): boolean => isToolLost(this.#session, tool)
  readonly selectConcurrent: View['selectConcurrent'] = (calls) =>
    this.#session.toolRuntime.together(calls, this.#session.settings, this.#toolScope())
  readonly compressibleTokens = (): number => createCompressibleTokens(this.#session, this.#route)()

  readonly #toolScope = (): ToolScope => (this.#scope ??= turnScope(this.#session))

  get limits(): View['limits'] {
    return loopLimits(this.#session.settings)
  }
  get canShrinkImages(): boolean {
    return this.#env.IMAGES !== undefined
  }
  get contextWindow(): number {
    return this.#route?.contextWindow ?? defaultContextWindow
  }
  get inbox(): View['inbox'] {
    return this.#session.store.inbox()
  }
  get lastRole(): View['lastRole'] {
    return this.#session.store.lastRole()
  }
  get hasImages(): boolean {
    return this.#session.store.hasImages()
  }
  get sendsPdfs(): boolean {
    return sendsPdfs(this.#session, this.#route)
  }
  get toolbox(): View['toolbox'] {
    return this.#session.toolRuntime.toolbox(this.#session.settings, this.#toolScope())
  }
  get stallsInARow(): number {
    return getStalls(this.#session.tenantId, this.#route?.id ?? '')
  }
  get messageCount(): number {
    return this.#session.store.transcript().length
  }
  get contextTokens(): number {
    return (this.#tokens ??= contextTokens(this.#session))
  }
  get chain(): View['chain'] {
    const { tenantId, settings } = this.#session
    return (this.#chain ??= createChain(this.#routes, tenantId, settings, this.#turn))
  }
  get limitReached(): string | undefined {
    return this.#session.billing.reachedLimit(this.#turn)
  }
  get limitWarning(): View['limitWarning'] {
    return this.#session.billing.nearLimit(this.#turn)
  }
  /** A summary in flight is a side call, which keeps its own note. */
  get lostCall(): View['lostCall'] {
    const isInFlight = this.#turn.stage.at === 'calling-model'
    if (!isInFlight || !this.#route) return undefined
    return { usage: billInterrupted(estimateUsage(this.#session, ''), { route: this.#route }) }
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
      step: session.store.turn().budget.spent,
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
