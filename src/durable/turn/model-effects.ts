/** Builds the model group of the turn's effects: chooses models and keys, and collects what a request consists of. */

import { type Catalog, emptyCatalog } from '#agent/providers/catalog/model-lookup.ts'
import type { Failure } from '#agent/core/failure.ts'
import type { Message } from '#agent/core/message.ts'
import { newTurn, type Turn } from '#agent/core/turn.ts'
import { getTimeLeftMs } from '#agent/policy/time-limit.ts'
import type { ErrorContext } from '#agent/providers/errors/classify-error.ts'
import { resolveModelId, type Route, type Variables } from '#agent/routing/route.ts'
import { createDialects } from '#durable/models/dialects.ts'
import { type IdleLimits, idleLimits } from '#durable/models/idle-timeout.ts'
import { leaseKey, recordOutcome, suspendKey } from '#durable/models/key-pool.ts'
import { learnTrait, repairsFor } from '#durable/models/learned-traits.ts'
import { learnWindow } from '#durable/models/learned-windows.ts'
import { askReferences, resolveMixture, withAggregator } from '#durable/models/mixture-of-agents.ts'
import { createChain } from '#durable/models/model-routes.ts'
import { createSessionRoutes, explainMissingForTurn } from '#durable/models/session-routes.ts'
import { promptFor } from '#agent/memory/personal-layers.ts'
import { fenceTranscript } from '#agent/untrusted/fenced-transcript.ts'
import { clock } from '#durable/platform/clock.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import { variablesOf } from '#durable/platform/variables.ts'
import { createTenantFetch } from '#durable/tenant/tenant-fetch.ts'
import { tenantStub, blobPrefix } from '#durable/platform/addresses.ts'
import { hasPdf } from '#agent/providers/shared/pdf.ts'
import { loadImages, maxRequestImageChars } from '#durable/workspace/attachments.ts'
import { omitRefusedImages, rememberRefusedImages } from '#durable/workspace/refused-images.ts'
import { imageShrinker, shrinkOversizedImages, shrinkImages } from '#durable/workspace/shrink-images.ts'
import { contextTokens } from './context-tokens.ts'
import type { ChosenModel, ModelEffects, Reading } from './effects.ts'
import { turnMarks } from './turn-marks.ts'
import { turnAuthority } from './turn-authority.ts'
import { loopLimits } from './loop-limits.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { createImageDescriber } from './describe-images.ts'
import { createServerSearch } from './tools/server-search.ts'
import { createSummariser } from './compression/summariser.ts'
import type { TurnSession } from './turn-session.ts'
import type { Dialect, DialectName, Endpoint } from '#agent/core/dialect.ts'
import type { Usage } from '#agent/core/usage.ts'
import { findCheapModel } from '#agent/routing/cheap-model.ts'
import type { CallCost, Reserved } from '#durable/tenant/billing/session-billing.ts'
import { runSideCall, type SideCall, type SideCallContext } from '#durable/models/side-call.ts'

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
  const lease = (chosen: ChosenModel) => leaseChosen(session, env, chosen, routesOf(currentTurn(session))[0])
  const catalog = () => sourcesFor(env).catalog ?? emptyCatalog
  const sideCalls = createSideCalls(session, { dialects, variables, catalog, routes: routesOf, lease })
  return {
    dialects,
    routesOf,
    choose: (turn) => choose(session, turn, routesOf(turn)),
    explainUnavailable: (turn) => explainMissingForTurn(session, env, resolveMixtureOf(turn)),
    lease: (chosen) => {
      const release = lease(chosen)
      return (failure) => {
        release(failure)
        if (!failure && currentTurn(session).repairs.images === 'left-out')
          rememberRefusedImages(session, chosen.route.id, session.store.transcript())
      }
    },
    abortable: () => session.driver.abortable(),
    system: (turn) => [getSystemPrompt(session), turn.options.instructions].filter(Boolean).join('\n\n'),
    transcript: (route, pdfWindow) => renderTranscript(session, env, { route, pdfWindow }),
    describeImages: createImageDescriber(session, env),
    defaults: () => session.settings.model ?? {},
    errorContext: (route, stalled) => getErrorContext(session, route, stalled),
    idleLimits: (route) => listIdleLimits(session, route),
    repairsFor: (route) => repairsFor(session.tenantId, route),
    redact: (text) => redactorFor(env, session.tenantId).redact(text),
    ...sideCalls,
    answerHooks: () => getAnswerHooks(session),
    serverSearch: createServerSearch(session),
    getReading: (turn) => getReading(session, turn),
    summariser: createSummariser(session, env, { routesOf, side: sideCalls.side }),
  }
}

function getAnswerHooks(session: TurnSession): ReturnType<NonNullable<ModelEffects['answerHooks']>> {
  const hooks = session.tenant.hooks
  if (!hooks?.has('transform_llm_output')) return undefined
  const { sessionId, toolRuntime } = session
  const transform = async (turn: Turn, text: string) =>
    hooks.transformOutput(text, { sessionId, runId: turn.id, model: toolRuntime.model })
  return { transform }
}

/** The stored prompt, as far as the asker of the turn may be answered with it. */
function getSystemPrompt(session: TurnSession): string | undefined {
  const { prompt, promptRecord } = session.meta
  return prompt === undefined ? undefined : promptFor(prompt, promptRecord?.personal, turnAuthority(session))
}

/** Collects the context in which the error of a call is classified. */
function getErrorContext(session: TurnSession, route: Route, isStalled: boolean): ErrorContext {
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

function listIdleLimits(session: TurnSession, route: Route): IdleLimits {
  const turn = currentTurn(session)
  const remainingMs = getTimeLeftMs(turn, loopLimits(session.settings), clock.now())
  const isWhole = (turn.repairs.stream ?? repairsFor(session.tenantId, route).stream) === 'off'
  const around = { reasoning: route.isReasoning, promptTokens: contextTokens(session), remainingMs, isWhole }
  return idleLimits(session.settings.agent, around)
}

/** After foreign and private data an answer has only links that were typed or read. */
function getReading(session: TurnSession, turn: Turn): Reading | Promise<Reading> {
  const log = turnMarks(session, turn)
  const marks = log.now()
  const opening = session.settings.approvals?.mode === 'off' ? undefined : log.openLinks()
  return opening ? opening.then((openLinks) => ({ marks, openLinks })) : { marks }
}

async function renderTranscript(
  session: TurnSession,
  env: Env,
  { route, pdfWindow }: { readonly route: Route; readonly pdfWindow: number | undefined },
): Promise<readonly Message[]> {
  const within = blobPrefix(session.tenantId)
  let transcript = omitRefusedImages(fenceTranscript(session.store.transcript()), route.id, session.meta.refusedImages)
  if (pdfWindow !== undefined && transcript.some(hasPdf)) {
    const { loadPdfs } = await import('#durable/workspace/pdfs.ts')
    transcript = await loadPdfs(transcript, { blobs: env.BLOBS, within, contextWindow: pdfWindow })
  }
  if (!session.store.hasImages()) return transcript
  const whole = await loadImages(transcript, env.BLOBS, within, maxRequestImageChars)
  const isSmaller = session.store.turn().repairs.imageSize === 'small'
  if (!env.IMAGES) return whole
  return (isSmaller ? shrinkImages : shrinkOversizedImages)(whole, imageShrinker(env.IMAGES))
}

function choose(session: TurnSession, turn: Turn, routes: readonly Route[]): ChosenModel | undefined {
  const route = routes[turn.route.model]
  const keys = createChain(routes, session.tenantId, session.settings, turn)[turn.route.model]?.keys ?? []
  const name = keys.find((key) => !turn.route.avoid.includes(key))
  const endpoint = route?.endpoints.find(({ id }) => id === name) ?? route?.endpoints[0]
  return route && endpoint && { route, endpoint }
}

/** Counts the call with its key. A failure that is the key's fault suspends the key for the whole tenant. */
function leaseChosen(session: TurnSession, env: Env, { route, endpoint }: ChosenModel, first: Route | undefined) {
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

type SideCallOptions = {
  readonly dialects: Readonly<Partial<Record<DialectName, Dialect>>>
  readonly variables: Variables
  readonly catalog: () => Catalog
  readonly routes: (turn: Turn) => readonly Route[]
  readonly lease: (chosen: ChosenModel) => (failure?: Failure) => void
}

/** For a call of a session that is deleted meanwhile. */
const notReserved: Reserved = { ok: true, release: () => undefined }

type SideCalls = Pick<ModelEffects, 'side' | 'references'>

/** Makes the side calls of a session: side tasks, and the reference models of a mixture. */
function createSideCalls(session: TurnSession, options: SideCallOptions): SideCalls {
  const inTurn = contextOf(session, options, () => session.driver.abortable())
  const afterTurn = contextOf(session, options, () => new AbortController())
  const side: SideCall = async (task, request) => {
    const note = session.billing.notes.nextId()
    const isInTurn = session.store.hasOpenTurn
    const context = isInTurn ? inTurn : afterTurn
    const recordEstimate = (usage: Usage) => void (session.exists && session.billing.notes.set({ id: note, usage }))
    const reserve = (cost: CallCost) =>
      session.exists ? session.billing.reserve(isInTurn ? session.store.current() : undefined, cost) : notReserved
    const answer = await runSideCall(task, request, { ...context, recordEstimate, reserve })
    if (request.billedBy !== 'caller' && session.exists) session.billing.addSideCall({ id: note, usage: answer.usage })
    if (!isInTurn && session.exists) session.billing.releaseSideCalls()
    return { ...answer, note }
  }
  let cached: { readonly turn: string; readonly answers: Promise<string | undefined> } | undefined
  return {
    side,
    references: (turn, transcript) => {
      const mixture = resolveMixture(turn.options.model, session.settings, options.variables['MODEL'])
      if (!mixture) return Promise.resolve(undefined)
      // The references are called once per turn: later model calls only continue the work.
      if (cached?.turn !== turn.id)
        cached = {
          turn: turn.id,
          answers: askReferences(mixture, transcript, (request) => side('moa_reference', request)),
        }
      return cached.answers
    },
  }
}

function contextOf(
  session: TurnSession,
  options: SideCallOptions,
  abortable: () => AbortController,
): Omit<SideCallContext, 'recordEstimate' | 'reserve'> {
  const { dialects, variables, catalog, routes, lease } = options
  const { tenantId } = session
  const routeOf = (id: string) =>
    routes(newTurn('', 0, 0, { model: id })).find((route) => route.id === resolveModelId(id, session.settings))
  const turnOf = () => session.store.current() ?? newTurn('', 0, 0)
  return {
    tenantId,
    dialects,
    abortable,
    settings: () => session.settings,
    deploymentModel: variables['AUX_MODEL']?.trim(),
    turnRoutes: () => {
      const turn = turnOf()
      const chain = routes(turn)
      return [...chain.slice(turn.route.model), ...chain.slice(0, turn.route.model)]
    },
    routeOf,
    cheapModelOf: (main) => findCheapModel(main, { catalog: catalog(), routeOf }),
    lease: (route) => {
      const endpoint = endpointOf(route, createChain([route], tenantId, session.settings, turnOf())[0]?.keys ?? [])
      return endpoint && { endpoint, end: lease({ route, endpoint }) }
    },
  }
}

const endpointOf = ({ endpoints }: Route, keys: readonly string[]): Endpoint | undefined =>
  endpoints.find(({ id }) => id === keys[0]) ?? endpoints[0]
