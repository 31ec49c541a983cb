/** The machine of one session: the pure loop, with everything it needs from this object. */

import { type Message, textIn } from '../../agent/model/message.ts'
import type { Machine } from '../../agent/loop/drive.ts'
import type { Failure } from '../../agent/model/failure.ts'
import type { View } from '../../agent/model/ports.ts'
import type { Turn } from '../../agent/model/turn.ts'
import { noUsage, type Usage } from '../../agent/model/usage.ts'
import { timeLeft } from '../../agent/policy/deadline.ts'
import { tokensIn } from '../../agent/prompt/estimate-tokens.ts'
import type { Circumstances } from '../../agent/providers/errors/classify-error.ts'
import type { Route } from '../../agent/routing/route.ts'
import { judgeWith, policyOf } from './approval-policy.ts'
import { imagesOf, withImages } from '../workspace/attachments.ts'
import { sideCalls } from './side-calls.ts'
import { learnWindow } from '../models/learned-windows.ts'
import { DeltaBuffer } from './delta-buffer.ts'
import { dialectsOf } from '../models/dialects.ts'
import { failpoint } from '../platform/failpoint.ts'
import { type IdleLimits, idleLimits } from '../models/idle-timeout.ts'
import { benchKey, countStalls, leaseKey, stallsOf } from '../models/key-pool.ts'
import { knowingTenant } from '../tenant/known-tenant.ts'
import { loopLimits } from './loop-limits.ts'
import { type Chosen, performer } from './effects.ts'
import { aggregated } from '../models/mixture-of-agents.ts'
import { billCut } from '../models/pricing.ts'
import { programLog } from './programs.ts'
import { chainOf } from '../models/model-routes.ts'
import type { TurnSession } from './turn-session.ts'
import { shrinkWith, withoutVastImages, withSmallImages } from '../workspace/shrink-images.ts'
import { missingForTurn, sessionRoutes } from '../models/session-routes.ts'
import type { Side } from '../models/side-task.ts'
import { tenantStub } from '../tenant/tenant-stub.ts'
import { variablesOf } from '../platform/variables.ts'
import { clock } from '../platform/clock.ts'

export function createTurnMachine(core: TurnSession, env: Env): Machine & { readonly side: Side } {
  const dialects = dialectsOf(env)
  const variables = variablesOf(env)
  const routesOf = sessionRoutes(core, env)
  const asking = (turn: Turn) => aggregated(turn, core.settings, variables['MODEL'])
  const routes = (turn: Turn) => routesOf(asking(turn))
  const leased = (chosen: Chosen) => lease(core, env, chosen, routes(core.store.turn())[0])
  const besides = sideCalls(core, { dialects, variables, routes, lease: leased })
  const deltas = new DeltaBuffer((kind, text) => core.store.hear(kind, text))
  return {
    get store() {
      return core.store
    },
    perform: knowingTenant(
      core,
      performer({
        dialects,
        choose: (turn) => choose(core, turn, routes(turn)),
        missing: (turn) => missingForTurn(core, env, asking(turn)),
        lease: leased,
        system: (turn) => [core.meta.prompt, turn.options.instructions].filter(Boolean).join('\n\n'),
        transcript: () => transcriptOf(core, env),
        toolSchemas: () => core.toolRuntime.schemas(core.settings),
        runTools: (calls, signal) =>
          core.toolRuntime.run(calls, {
            settings: core.settings,
            signal,
            runId: core.store.turn().id,
            taken: taken(core.store.turn()),
            seesImages: seesImages(core, routes(core.store.turn())),
            policy: () => policyOf(core.settings, core.meta, core.store.current()),
            judge: (asked) => judgeWith(core, asked),
            programs: programLog(
              () => core.store,
              () => core.driver.look(),
            ),
          }),
        hear: (delta) => {
          deltas.append(delta)
          void failpoint('mid-stream')
        },
        heardAll: (kept) => (kept ? deltas.flush() : deltas.discard()),
        abortable: () => core.driver.abortable(),
        circumstances: (route, stalled) => circumstancesOf(core, route, stalled),
        limits: (route) => silences(core, route),
        estimate: (said) => estimated(core, said),
        ...besides,
      }),
    ),
    look: () => viewOfTurn(core, routes(core.store.turn()), env),
    side: besides.side,
  }
}

/** What the error of a call is read by. */
function circumstancesOf(core: TurnSession, route: Route, stalled: boolean): Circumstances {
  const { contextWindow, reasoning, aggregator } = route
  return {
    promptTokens: contextTokens(core),
    messages: core.store.transcript().length,
    now: clock.now(),
    contextWindow,
    reasoning,
    aggregator,
    stalled,
  }
}

function silences(core: TurnSession, { reasoning }: Route): IdleLimits {
  const leftMs = timeLeft(core.store.turn(), loopLimits(core.settings), clock.now())
  return idleLimits(core.settings.agent, { reasoning, promptTokens: contextTokens(core), leftMs })
}

function viewOfTurn(core: TurnSession, routes: readonly Route[], env: Env): View {
  const turn = core.store.turn()
  return {
    now: clock.now(),
    inbox: core.store.inbox(),
    lastRole: core.store.lastRole(),
    images: core.store.hasImages(),
    shrinks: env.IMAGES !== undefined,
    toolbox: core.toolRuntime.toolbox(core.settings),
    together: (calls) => core.toolRuntime.together(calls, core.settings),
    stalls: stallsOf(core.tenantId, routes[turn.route.model]?.id ?? ''),
    messages: core.store.transcript().length,
    contextTokens: contextTokens(core),
    contextWindow: routes[turn.route.model]?.contextWindow ?? 128_000,
    chain: chainOf(routes, core.tenantId, core.settings, turn),
    limits: loopLimits(core.settings),
    ...spending(core, turn, routes[turn.route.model]),
    random: Math.random(),
  }
}

/** Which limit is reached; and what a call costs that is in flight, in case that it is never heard of again. */
function spending(core: TurnSession, turn: Turn, route: Route | undefined): Pick<View, 'over' | 'lost'> {
  const over = core.billing.over(turn, clock.now())
  // A summary in flight is a call beside the conversation, and noted as such.
  const isInFlight = turn.stage.at === 'calling-model'
  return {
    ...(over && { over }),
    ...(isInFlight && route && { lost: { usage: billCut(estimated(core, ''), { route }) } }),
  }
}

/** Characters of the results that a batch has, while others of its calls are still to run. */
const taken = ({ stage }: Turn): number =>
  stage.at === 'tools'
    ? stage.calls.reduce((sum, call) => sum + (call.state === 'settled' ? textIn(call.result).length : 0), 0)
    : 0

async function transcriptOf(core: TurnSession, env: Env): Promise<readonly Message[]> {
  const transcript = core.store.transcript()
  if (!core.store.hasImages()) return transcript
  const whole = await withImages(transcript, env.BLOBS, imagesOf(core.tenantId))
  const isSmaller = core.store.turn().repairs.imageSize === 'small'
  if (!env.IMAGES) return whole
  return (isSmaller ? withSmallImages : withoutVastImages)(whole, shrinkWith(env.IMAGES))
}

/** It is known to, and its provider has taken those that there are. */
function seesImages(core: TurnSession, routes: readonly Route[]): boolean {
  const { route, repairs } = core.store.turn()
  return routes[route.model]?.facts?.images === true && repairs.images === undefined
}

function choose(core: TurnSession, turn: Turn, routes: readonly Route[]): Chosen | undefined {
  const route = routes[turn.route.model]
  const keys = chainOf(routes, core.tenantId, core.settings, turn)[turn.route.model]?.keys ?? []
  const name = keys.find((key) => !turn.route.avoid.includes(key))
  const endpoint = route?.endpoints.find(({ id }) => id === name) ?? route?.endpoints[0]
  return route && endpoint && { route, endpoint }
}

/** Counts the call, and benches its key for everybody when it turns out to be the key's fault. */
function lease(core: TurnSession, env: Env, { route, endpoint }: Chosen, first: Route | undefined) {
  const end = leaseKey(core.tenantId, endpoint.id, clock.now())
  return (failure?: Failure) => {
    end()
    countStalls(core.tenantId, route.id, failure)
    const window = failure && learnWindow(core.tenantId, route, failure)
    if (window) core.later(tenantStub(env, core.tenantId).keepWindow(route.id, window))
    if (!failure || !endpoint.key) return
    const isOnly = route.endpoints.length === 1
    const isBorrowed = route.id !== first?.id && Boolean(first?.endpoints.some(({ id }) => id === endpoint.id))
    const state = benchKey(core.tenantId, endpoint.id, failure, { now: clock.now(), isOnly, isBorrowed })
    if (state) core.later(tenantStub(env, core.tenantId).benchKey(endpoint.id, state))
  }
}

/** Of a call whose usage never came. */
const estimated = (core: TurnSession, said: string): Usage => ({
  ...noUsage,
  input: contextTokens(core),
  output: tokensIn(said),
  costStatus: 'unknown',
})

const contextTokens = (core: TurnSession) => core.store.contextTokens() + promptTokens(core)

/** The fixed part of every request: counted once for as long as it stays the same. */
const counted = new WeakMap<object, number>()

function promptTokens(core: TurnSession): number {
  const schemas = core.toolRuntime.schemas(core.settings)
  let tokens = counted.get(schemas)
  if (tokens === undefined) {
    tokens = tokensIn(JSON.stringify(schemas)) + tokensIn(core.meta.prompt ?? '')
    counted.set(schemas, tokens)
  }
  return tokens
}
