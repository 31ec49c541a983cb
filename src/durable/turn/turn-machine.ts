/** Creates the state machine of a session: the pure loop with the session's store, effects and view. */

import type { Machine } from '#agent/loop/drive.ts'
import type { View } from '#agent/core/ports.ts'
import type { Turn } from '#agent/core/turn.ts'
import type { Route } from '#agent/routing/route.ts'
import { getStalls } from '#durable/models/key-pool.ts'
import { createChain } from '#durable/models/model-routes.ts'
import { billInterrupted } from '#durable/models/pricing.ts'
import type { SideCall } from '#durable/models/side-call.ts'
import { clock } from '#durable/platform/clock.ts'
import { withFreshTenant } from '#durable/tenant/session-tenant.ts'
import { createBillingEffects, estimateUsage } from './billing-effects.ts'
import { contextTokens } from './context-tokens.ts'
import { createPerform } from './effects.ts'
import { loopLimits } from './loop-limits.ts'
import { createModelEffects } from './model-effects.ts'
import { createStreamEffects } from './stream-effects.ts'
import { createCompressibleTokens, defaultContextWindow, type Summariser } from './compression/summariser.ts'
import { createToolEffects } from './tool-effects.ts'
import { withTrace } from './trace.ts'
import { turnScope } from './tools/turn-scope.ts'
import type { TurnSession } from './turn-session.ts'

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

/** Takes a snapshot of everything the pure loop may read besides the turn. */
function createView(session: TurnSession, routes: readonly Route[], env: Env): View {
  const turn = session.store.turn()
  return {
    now: clock.now(),
    inbox: session.store.inbox(),
    lastRole: session.store.lastRole(),
    hasImages: session.store.hasImages(),
    canShrinkImages: env.IMAGES !== undefined,
    toolbox: session.toolRuntime.toolbox(session.settings, turnScope(session)),
    selectConcurrent: (calls) => session.toolRuntime.together(calls, session.settings, turnScope(session)),
    stallsInARow: getStalls(session.tenantId, routes[turn.route.model]?.id ?? ''),
    lastSeq: session.store.lastMessageSeq(),
    messageCount: session.store.transcript().length,
    contextTokens: contextTokens(session),
    compressibleTokens: createCompressibleTokens(session, routes[turn.route.model]),
    contextWindow: routes[turn.route.model]?.contextWindow ?? defaultContextWindow,
    chain: createChain(routes, session.tenantId, session.settings, turn),
    limits: loopLimits(session.settings),
    ...spendingOf(session, turn, routes[turn.route.model]),
    random: Math.random(),
  }
}

/** Reads the spending limits that are reached or near, and the estimated cost of a call in flight in case its result is lost. */
function spendingOf(
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
