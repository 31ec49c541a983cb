/**
 * Runs side calls: model calls beside the conversation for summaries, titles, approval judgements and images. It chooses
 * the models, retries, and limits the time. The result is a text or a failure, with the usage of all attempts.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { Dialect, DialectName, Endpoint } from '#agent/core/dialect.ts'
import type { Failure } from '#agent/core/failure.ts'
import { type Message, textIn } from '#agent/core/message.ts'
import type { Settings, SideTask } from '#agent/core/settings.ts'
import { addUsage, noUsage, type Usage } from '#agent/core/usage.ts'
import { afterFailure, type AfterFailure, listSideModels, getSideTimeoutMs } from '#agent/policy/side-tasks.ts'
import { estimateTokens, estimateMessageTokens } from '#agent/prompt/estimate-tokens.ts'
import type { ErrorContext } from '#agent/providers/errors/classify-error.ts'
import { getProvider, providers } from '#agent/providers/profiles/providers.ts'
import type { Route } from '#agent/routing/route.ts'
import { billCall, billInterrupted, highestCost } from './pricing.ts'
import { repairsFor } from './learned-traits.ts'
import { clock } from '#durable/platform/clock.ts'

export type SideCallRequest = {
  readonly system: string
  /** A function renders the transcript for a model with room for `maxTokens`. */
  readonly transcript: readonly Message[] | ((maxTokens: number) => readonly Message[])
  readonly maxTokens?: number
  /** Uses exactly these models, in order: a mixture names its models. */
  readonly models?: readonly string[]
  /** Asks only configured models, and a cheap one of the conversation's provider. */
  readonly isCheapOnly?: boolean
  /** The caller bills the call itself. Absent: the open turn claims its usage, or the next one. */
  readonly billedBy?: 'caller'
}

/** Makes a side call. Failures of providers are results, not rejections. */
export type SideCall = (task: SideTask, request: SideCallRequest) => Promise<SideCallResult>

export type SideCallResult = (
  | { readonly kind: 'answered'; readonly text: string; readonly model: string; readonly usage: Usage }
  | { readonly kind: 'failed'; readonly failure: Failure; readonly usage: Usage }
) & {
  /** The id of the stored note. A caller that bills the call deletes it. */
  readonly note?: number
}

export type SideCallContext = {
  readonly tenantId: string
  readonly settings: () => Settings
  readonly dialects: Readonly<Partial<Record<DialectName, Dialect>>>
  /** `AUX_MODEL` of the deployment. */
  readonly deploymentModel: string | undefined
  /** The models of the turn, the one in use first. */
  readonly turnRoutes: () => readonly Route[]
  readonly routeOf: (id: string) => Route | undefined
  /** Finds a cheap model of the same provider. */
  readonly cheapModelOf: (main: Route) => string | undefined
  /** Chooses a key and counts its use until `end` is called. */
  readonly lease: (
    route: Route,
  ) => { readonly endpoint: Endpoint; readonly end: (failure?: Failure) => void } | undefined
  /** Stores the cost to bill if a crash loses this call. Called before each attempt. */
  readonly recordEstimate: (usage: Usage) => void
  /** Reserves the most that an attempt can cost. */
  readonly reserve: (cost: ReturnType<typeof highestCost>) => Promise<ReservedSideCall> | ReservedSideCall
  /** Creates a controller that is aborted when the turn is stopped. One for all attempts. */
  readonly abortable: () => AbortController
}

type ReservedSideCall =
  | { readonly ok: true; readonly release: () => void }
  | { readonly ok: false; readonly failure: Failure }

/** The value of `AUX_MODEL` that switches off optional side calls. */
export const noAuxModel = 'none'

/** Failed routes by tenant, with the time until which they are skipped. Each isolate has its own. */
const pausedRoutes = new BoundedMap<string, number>(5_000)

function pauseRoute(name: string, until: number): void {
  pausedRoutes.set(name, until)
}

const routeKey = (tenantId: string, { id }: Route) => `${tenantId} ${id}`

/** The time limit of all attempts together, as a multiple of one attempt's. */
const totalTimeoutFactor = 2

export async function runSideCall(
  task: SideTask,
  given: SideCallRequest,
  context: SideCallContext,
): Promise<SideCallResult> {
  const { timeout, max_tokens: maxTokens } = context.settings().auxiliary?.[task] ?? {}
  const request = maxTokens === undefined ? given : { ...given, maxTokens }
  const attemptMs = getSideTimeoutMs(task, timeout)
  const until = clock.now() + totalTimeoutFactor * attemptMs
  // Created before the first await: a stop aborts only the controllers that exist.
  const { signal } = context.abortable()
  let usage = noUsage
  let last: Failure = { kind: 'unconfigured', message: 'There is no model for this.' }
  for (const route of resolveRoutes(task, request, context)) {
    let next: AfterFailure = { do: 'again', afterMs: 0 }
    for (let tries = 1; next.do === 'again'; tries++) {
      await clock.wait(next.afterMs)
      const timeoutMs = Math.min(attemptMs, until - clock.now())
      if (signal.aborted) return { kind: 'failed', failure: { kind: 'aborted', message: '' }, usage }
      if (timeoutMs <= 0) return { kind: 'failed', failure: last, usage }
      const result = await attempt({ task, route, request, timeoutMs, signal, spent: usage }, context)
      usage = addUsage(usage, result.usage)
      if (result.kind === 'answered') return { ...result, usage }
      last = result.failure
      next = afterFailure({ ...last, tries, keys: route.endpoints.length })
    }
    if (next.do === 'stop') return { kind: 'failed', failure: last, usage }
    if (next.suspendMs) pauseRoute(routeKey(context.tenantId, route), clock.now() + next.suspendMs)
  }
  return { kind: 'failed', failure: last, usage }
}

function listModelIds(
  task: SideTask,
  { isCheapOnly = false }: SideCallRequest,
  chain: readonly Route[],
  context: SideCallContext,
): readonly string[] {
  const [main] = chain
  const set = context.settings().auxiliary?.[task]
  const sources = {
    configured: set?.model,
    configuredFallbacks: set?.fallback_providers,
    // `none` has no route and is dropped like any other model without one.
    deployed: context.deploymentModel,
  }
  if (isCheapOnly) return listSideModels({ ...sources, sibling: main && context.cheapModelOf(main), fallbacks: [] })
  return listSideModels({
    ...sources,
    main: main?.id,
    sibling: main && getAuxModel(main.provider),
    fallbacks: chain.map(({ id }) => id),
    others: isKeptAt(main) ? [] : otherModels,
  })
}

/** A tenant with a custom provider may not want its text elsewhere; the demo model must stay free. */
const isKeptAt = (main: Route | undefined): boolean => /^(custom:|demo$)/.test(main?.provider ?? 'demo')

/** Lists the routes to try, without the demo model. When all of them are paused, all are tried. */
function resolveRoutes(task: SideTask, request: SideCallRequest, context: SideCallContext): readonly Route[] {
  const chain = context.turnRoutes()
  const ids = request.models ?? listModelIds(task, request, chain, context)
  const resolved = ids.flatMap((id) => chain.find((route) => route.id === id) ?? context.routeOf(id) ?? [])
  const isUsable = (route: Route) =>
    route.dialect !== 'demo' && (task !== 'vision' || repairsFor(context.tenantId, route).images !== 'unseen')
  const routes = resolved.filter(isUsable)
  const now = clock.now()
  const active = routes.filter((route) => (pausedRoutes.get(routeKey(context.tenantId, route)) ?? 0) <= now)
  return active.length ? active : routes
}

/** The cheap models of all providers, those of aggregators first. */
const otherModels = [...providers.filter(({ isAggregator }) => isAggregator), ...providers].flatMap(
  ({ id, auxModel, defaultModel }) => (auxModel || defaultModel ? [`${id}/${auxModel ?? defaultModel}`] : []),
)

/** Returns the cheap model of a provider's profile. */
function getAuxModel(provider: string): string | undefined {
  const { auxModel } = getProvider(provider) ?? {}
  return auxModel && `${provider}/${auxModel}`
}

type SideAttempt = {
  readonly task: SideTask
  readonly route: Route
  readonly request: SideCallRequest
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** The usage of the attempts before. */
  readonly spent: Usage
}

async function attempt(
  { task, route, request, timeoutMs, signal, spent }: SideAttempt,
  context: SideCallContext,
): Promise<SideCallResult> {
  const transcript = renderTranscript(route, request)
  const promptTokens = countTokens(request.system, transcript)
  const cost = highestCost(route, promptTokens, request.maxTokens ?? defaultAnswerTokens)
  const reserving = context.reserve(cost)
  const reserved = reserving instanceof Promise ? await reserving : reserving
  if (!reserved.ok) return { kind: 'failed', failure: reserved.failure, usage: noUsage }
  try {
    return await attemptReserved({ task, route, request, timeoutMs, signal, spent, transcript, promptTokens }, context)
  } finally {
    reserved.release()
  }
}

const countTokens = (system: string, transcript: readonly Message[]): number =>
  transcript.reduce((sum, message) => sum + estimateMessageTokens(message), estimateTokens(system))

type ReservedAttempt = SideAttempt & { readonly transcript: readonly Message[]; readonly promptTokens: number }

async function attemptReserved(
  { task, route, request, timeoutMs, signal, spent, transcript, promptTokens }: ReservedAttempt,
  context: SideCallContext,
): Promise<SideCallResult> {
  const dialect = context.dialects[route.dialect]
  const leased = dialect && context.lease(route)
  if (!dialect || !leased) {
    const failure = { kind: 'unconfigured', message: `${route.id} cannot be called.` } as const
    return { kind: 'failed', failure, usage: noUsage }
  }
  const { system, maxTokens } = request
  let received = ''
  const estimate = () => ({
    ...noUsage,
    input: promptTokens,
    output: estimateTokens(received),
    costStatus: 'unknown' as const,
  })
  context.recordEstimate(addUsage(spent, billInterrupted(estimate(), { route, task })))
  const controller = new AbortController()
  let isTimeout = false
  const cancelTimer = clock.schedule(timeoutMs, () => {
    isTimeout = true
    controller.abort()
  })
  try {
    const { message, usage } = await dialect.call(
      { model: route.model, system, transcript, tools: [], maxTokens, repairs: repairsFor(context.tenantId, route) },
      leased.endpoint,
      {
        signal: AbortSignal.any([signal, controller.signal]),
        onDelta: ({ text }) => void (received += text),
        onActivity: () => undefined,
        sleep: (ms, ends) => clock.wait(ms, ends && { signal: ends }),
      },
    )
    leased.end()
    const text = textIn(message).trim()
    const billed = billCall(usage, estimate(), { route, task })
    if (text && message.stop !== 'refused') return { kind: 'answered', text, model: route.id, usage: billed }
    const kind = message.stop === 'refused' ? 'refused' : 'malformed'
    return { kind: 'failed', failure: { kind, message: text.slice(0, 300) }, usage: billed }
  } catch (error) {
    const failure = await classifyAttempt(error, route, {
      promptTokens,
      messageCount: transcript.length,
      isStalled: isTimeout,
      key: leased.endpoint.key,
    })
    // A rate limit of a side call does not suspend the key of the conversation.
    leased.end(failure.kind === 'rate' ? undefined : failure)
    const isInterrupted = received !== '' || isTimeout || failure.kind === 'aborted'
    return { kind: 'failed', failure, usage: isInterrupted ? billInterrupted(estimate(), { route, task }) : noUsage }
  } finally {
    cancelTimer()
  }
}

async function classifyAttempt(
  error: unknown,
  { contextWindow, isReasoning, isAggregator }: Route,
  facts: Pick<ErrorContext, 'promptTokens' | 'messageCount' | 'isStalled' | 'key'>,
): Promise<Failure> {
  const { classifyError } = await import('#agent/providers/errors/classify-error.ts')
  return classifyError(error, { ...facts, now: clock.now(), contextWindow, isReasoning, isAggregator })
}

/** The share of the context window to fill: an estimate without a tokenizer may be low. */
const maxWindowShare = 0.85
/** Tokens reserved for an answer without `maxTokens`. */
const defaultAnswerTokens = 4_096

function renderTranscript(
  { contextWindow }: Route,
  { system, transcript, maxTokens = defaultAnswerTokens }: SideCallRequest,
) {
  if (typeof transcript !== 'function') return transcript
  return transcript(Math.floor(contextWindow * maxWindowShare) - estimateTokens(system) - maxTokens)
}
