/** Creates the state machine of a session: the pure loop with the session's store, effects and view. */

import type { Machine } from '../../agent/loop/drive.ts'
import type { View } from '../../agent/model/ports.ts'
import type { Turn } from '../../agent/model/turn.ts'
import type { Route } from '../../agent/routing/route.ts'
import { stallsOf } from '../models/key-pool.ts'
import { chainOf } from '../models/model-routes.ts'
import { billCut } from '../models/pricing.ts'
import type { Side } from '../models/side-task.ts'
import { clock } from '../platform/clock.ts'
import { knowingTenant } from '../tenant/known-tenant.ts'
import { createBillingEffects, estimateUsage } from './billing-effects.ts'
import { contextTokens } from './context-tokens.ts'
import { createPerform } from './effects.ts'
import { loopLimits } from './loop-limits.ts'
import { createModelEffects } from './model-effects.ts'
import { createStreamEffects } from './stream-effects.ts'
import { createToolEffects } from './tool-effects.ts'
import type { TurnSession } from './turn-session.ts'

export function createTurnMachine(session: TurnSession, env: Env): Machine & { readonly side: Side } {
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
    perform: knowingTenant(session, perform),
    look: () => createView(session, model.routesOf(session.store.turn()), env),
    side: model.side,
  }
}

/** Takes a snapshot of everything the pure loop may read besides the turn. */
function createView(session: TurnSession, routes: readonly Route[], env: Env): View {
  const turn = session.store.turn()
  return {
    now: clock.now(),
    inbox: session.store.inbox(),
    lastRole: session.store.lastRole(),
    images: session.store.hasImages(),
    shrinks: env.IMAGES !== undefined,
    toolbox: session.toolRuntime.toolbox(session.settings),
    together: (calls) => session.toolRuntime.together(calls, session.settings),
    stalls: stallsOf(session.tenantId, routes[turn.route.model]?.id ?? ''),
    messages: session.store.transcript().length,
    contextTokens: contextTokens(session),
    contextWindow: routes[turn.route.model]?.contextWindow ?? 128_000,
    chain: chainOf(routes, session.tenantId, session.settings, turn),
    limits: loopLimits(session.settings),
    ...spendingOf(session, turn, routes[turn.route.model]),
    random: Math.random(),
  }
}

/** Reads the spending limit that is reached, and the estimated cost of a call in flight in case its result is lost. */
function spendingOf(session: TurnSession, turn: Turn, route: Route | undefined): Pick<View, 'over' | 'lost'> {
  const over = session.billing.over(turn, clock.now())
  // A summary in flight is a side call, which keeps its own note.
  const isInFlight = turn.stage.at === 'calling-model'
  return {
    ...(over && { over }),
    ...(isInFlight && route && { lost: { usage: billCut(estimateUsage(session, ''), { route }) } }),
  }
}
