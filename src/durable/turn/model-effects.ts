/** Builds the model group of the turn's effects: chooses models and keys, and collects what a request consists of. */

import { emptyCatalog } from '#agent/providers/catalog/model-lookup.ts'
import type { Failure } from '#agent/core/failure.ts'
import type { Message } from '#agent/core/message.ts'
import { newTurn, type Turn } from '#agent/core/turn.ts'
import { getTimeLeftMs } from '#agent/policy/time-limit.ts'
import type { CallContext } from '#agent/providers/errors/classify-error.ts'
import type { Route } from '#agent/routing/route.ts'
import { createDialects } from '#durable/models/dialects.ts'
import { type IdleLimits, idleLimits } from '#durable/models/idle-timeout.ts'
import { suspendKey, recordOutcome, leaseKey } from '#durable/models/key-pool.ts'
import { learnTrait, repairsFor } from '#durable/models/learned-traits.ts'
import { learnWindow } from '#durable/models/learned-windows.ts'
import { withAggregator } from '#durable/models/mixture-of-agents.ts'
import { createChain } from '#durable/models/model-routes.ts'
import { explainMissingForTurn, createSessionRoutes } from '#durable/models/session-routes.ts'
import { promptFor } from '#agent/memory/personal-layers.ts'
import { fenceTranscript } from '#agent/untrusted/fenced-transcript.ts'
import { clock } from '#durable/platform/clock.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import { variablesOf } from '#durable/platform/variables.ts'
import { createTenantFetch } from '#durable/tenant/tenant-fetch.ts'
import { tenantStub, blobPrefix } from '#durable/platform/addresses.ts'
import { loadImages } from '#durable/workspace/attachments.ts'
import { imageShrinker, shrinkOversizedImages, shrinkImages } from '#durable/workspace/shrink-images.ts'
import { contextTokens } from './context-tokens.ts'
import type { Chosen, ModelEffects } from './effects.ts'
import { turnAuthority } from './turn-authority.ts'
import { loopLimits } from './loop-limits.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { createImageDescriber } from './describe-images.ts'
import { createServerSearch } from './tools/server-search.ts'
import { createSideCalls } from './side-calls.ts'
import { createSummariser } from './compression/summariser.ts'
import type { TurnSession } from './turn-session.ts'

/** The effects, and the models that a turn may use in order of preference. */
export type TurnModels = ModelEffects & { readonly routesOf: (turn: Turn) => readonly Route[] }

/** A side call may run before the first turn of a session. */
const currentTurn = ({ store }: TurnSession): Turn => store.current() ?? newTurn('', 0, 0)

export function createModelEffects(session: TurnSession, env: Env): TurnModels {
  const guardedFetch = createTenantFetch(env, session.tenantId, (work) => session.runInBackground(work))
  const dialects = createDialects(env, { id: session.tenantId, guardedFetch })
  const variables = variablesOf(env)
  const routesOfModel = createSessionRoutes(session, env)
  /** A turn that names a mixture of models uses the routes of its aggregator. */
  const resolveMixtureOf = (turn: Turn) => withAggregator(turn, session.settings, variables['MODEL'])
  const routesOf = (turn: Turn) => routesOfModel(resolveMixtureOf(turn))
  const lease = (chosen: Chosen) => leaseChosen(session, env, chosen, routesOf(currentTurn(session))[0])
  const catalog = () => sourcesFor(env).catalog ?? emptyCatalog
  const sideCalls = createSideCalls(session, { dialects, variables, catalog, routes: routesOf, lease })
  return {
    dialects,
    routesOf,
    choose: (turn) => choose(session, turn, routesOf(turn)),
    explainUnavailable: (turn) => explainMissingForTurn(session, env, resolveMixtureOf(turn)),
    lease,
    abortable: () => session.driver.abortable(),
    system: (turn) => [systemPromptOf(session), turn.options.instructions].filter(Boolean).join('\n\n'),
    transcript: () => transcriptOf(session, env),
    describeImages: createImageDescriber(session, env),
    defaults: () => session.settings.model ?? {},
    errorContext: (route, stalled) => errorContextOf(session, route, stalled),
    idleLimits: (route) => idleLimitsOf(session, route),
    repairsFor: (route) => repairsFor(session.tenantId, route),
    redact: (text) => redactorFor(env, session.tenantId).redact(text),
    ...sideCalls,
    serverSearch: createServerSearch(session),
    summariser: createSummariser(session, env, { routesOf, side: sideCalls.side }),
  }
}

/** The stored prompt, as far as the asker of the turn may be answered with it. */
function systemPromptOf(session: TurnSession): string | undefined {
  const { prompt, promptRecord } = session.meta
  return prompt === undefined ? undefined : promptFor(prompt, promptRecord?.personal, turnAuthority(session))
}

/** Collects the context in which the error of a call is classified. */
function errorContextOf(session: TurnSession, route: Route, isStalled: boolean): CallContext {
  const { contextWindow, isReasoning, isAggregator } = route
  return {
    promptTokens: contextTokens(session),
    messageCount: session.store.transcript().length,
    now: clock.now(),
    contextWindow,
    isReasoning,
    isAggregator,
    isStalled,
  }
}

function idleLimitsOf(session: TurnSession, route: Route): IdleLimits {
  const turn = currentTurn(session)
  const remainingMs = getTimeLeftMs(turn, loopLimits(session.settings), clock.now())
  const isWhole = (turn.repairs.stream ?? repairsFor(session.tenantId, route).stream) === 'off'
  const around = { reasoning: route.isReasoning, promptTokens: contextTokens(session), remainingMs, isWhole }
  return idleLimits(session.settings.agent, around)
}

async function transcriptOf(session: TurnSession, env: Env): Promise<readonly Message[]> {
  const transcript = fenceTranscript(session.store.transcript())
  if (!session.store.hasImages()) return transcript
  const whole = await loadImages(transcript, env.BLOBS, blobPrefix(session.tenantId))
  const isSmaller = session.store.turn().repairs.imageSize === 'small'
  if (!env.IMAGES) return whole
  return (isSmaller ? shrinkImages : shrinkOversizedImages)(whole, imageShrinker(env.IMAGES))
}

function choose(session: TurnSession, turn: Turn, routes: readonly Route[]): Chosen | undefined {
  const route = routes[turn.route.model]
  const keys = createChain(routes, session.tenantId, session.settings, turn)[turn.route.model]?.keys ?? []
  const name = keys.find((key) => !turn.route.avoid.includes(key))
  const endpoint = route?.endpoints.find(({ id }) => id === name) ?? route?.endpoints[0]
  return route && endpoint && { route, endpoint }
}

/** Counts the call with its key. A failure that is the key's fault suspends the key for the whole tenant. */
function leaseChosen(session: TurnSession, env: Env, { route, endpoint }: Chosen, first: Route | undefined) {
  const end = leaseKey(session.tenantId, endpoint.id, clock.now())
  return (failure?: Failure) => {
    end()
    recordOutcome(session.tenantId, route.id, failure)
    learnTrait(session.tenantId, route, failure)
    const window = failure && learnWindow(session.tenantId, route, failure)
    if (window)
      session.runInBackground(tenantStub(env, session.tenantId).windows.record(session.ownAuthority, route.id, window))
    if (!failure || !endpoint.key) return
    const isOnly = route.endpoints.length === 1
    const isShared = route.id !== first?.id && Boolean(first?.endpoints.some(({ id }) => id === endpoint.id))
    const state = suspendKey(session.tenantId, endpoint.id, failure, { now: clock.now(), isOnly, isBorrowed: isShared })
    if (state)
      session.runInBackground(
        tenantStub(env, session.tenantId).keyHealth.suspend(session.ownAuthority, endpoint.id, state),
      )
  }
}
