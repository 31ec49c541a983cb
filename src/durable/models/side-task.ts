/**
 * Calls of a model beside the conversation: summaries, titles, judgements, reading images for a model
 * that cannot. One way for all of them: which models, how long, what is tried again. They bring back
 * what was said or a failure, never an error, and always what was spent.
 */

import { Bounded } from '../../agent/model/bounded.ts'
import type { Dialect, DialectName, Endpoint } from '../../agent/model/dialect.ts'
import type { Failure } from '../../agent/model/failure.ts'
import { type Message, textIn } from '../../agent/model/message.ts'
import type { Settings, SideTask } from '../../agent/model/settings.ts'
import { addUsage, noUsage, type Usage } from '../../agent/model/usage.ts'
import { afterFailure, type Next, sideModels, timeoutOf } from '../../agent/policy/side-tasks.ts'
import { tokensIn, tokensOf } from '../../agent/prompt/tokens.ts'
import { classify } from '../../agent/providers/errors/classify.ts'
import { providerOf, providers } from '../../agent/providers/profiles/providers.ts'
import type { Route } from '../../agent/routing/route.ts'
import { bill, billCut } from './pricing.ts'
import { clock } from '../platform/clock.ts'

export type SideRequest = {
  readonly system: string
  /** Or what it is for a model that has room for so many tokens. */
  readonly transcript: readonly Message[] | ((room: number) => readonly Message[])
  readonly maxTokens?: number
  /** Only these, in order, and no others: a mixture names its models. */
  readonly models?: readonly string[]
  /** Who asks puts down what it cost; else the turn does that is open, or the next one. */
  readonly bookedBy?: 'caller'
}

/** Asks a model beside the conversation. Never rejects for what the world does. */
export type Side = (task: SideTask, request: SideRequest) => Promise<SideAnswer>

export type SideAnswer = (
  | { readonly of: 'said'; readonly text: string; readonly model: string; readonly usage: Usage }
  | { readonly of: 'failed'; readonly failure: Failure; readonly usage: Usage }
) & {
  /** In the notes, for a caller that books it and then takes it off. */
  readonly note?: number
}

export type SideWorld = {
  readonly tenantId: string
  readonly settings: () => Settings
  readonly dialects: Readonly<Partial<Record<DialectName, Dialect>>>
  /** `AUX_MODEL` of the deployment. */
  readonly deployed: string | undefined
  /** The models of the turn, the one it has come to first. */
  readonly chain: () => readonly Route[]
  readonly routeOf: (id: string) => Route | undefined
  /** The key to use now, and what ends its use. */
  readonly lease: (
    route: Route,
  ) => { readonly endpoint: Endpoint; readonly end: (failure?: Failure) => void } | undefined
  /** What the task has cost if nothing is heard of it from here on. Said before each call. */
  readonly note: (usage: Usage) => void
  /** A controller that a stop of the turn reaches: one for the whole task. */
  readonly abortable: () => AbortController
}

/** Nobody may leave out the model in favour of none by this name; it only switches off what can be left out. */
export const noAux = 'none'

/** Routes that failed, by tenant: not before this time. For this isolate; others find out by themselves. */
const parked = new Bounded<string, number>(5_000)

function park(name: string, until: number): void {
  parked.set(name, until)
}

const place = (tenantId: string, { id }: Route) => `${tenantId} ${id}`

/** The whole task, all tries and models together. */
const patience = 2

export async function sideTask(task: SideTask, request: SideRequest, world: SideWorld): Promise<SideAnswer> {
  const perCall = timeoutOf(task, world.settings().auxiliary?.[task]?.timeout)
  const until = clock.now() + patience * perCall
  // Before anything is waited for: a stop reaches the controllers that are there, and no later ones.
  const { signal } = world.abortable()
  let usage = noUsage
  let last: Failure = { kind: 'unconfigured', message: 'There is no model for this.' }
  for (const route of routesFor(task, request, world)) {
    let next: Next = { do: 'again', afterMs: 0 }
    for (let tries = 1; next.do === 'again'; tries++) {
      await clock.wait(next.afterMs)
      const timeoutMs = Math.min(perCall, until - clock.now())
      if (signal.aborted) return { of: 'failed', failure: { kind: 'aborted', message: '' }, usage }
      if (timeoutMs <= 0) return { of: 'failed', failure: last, usage }
      const answer = await ask({ task, route, request, timeoutMs, signal, spent: usage }, world)
      usage = addUsage(usage, answer.usage)
      if (answer.of === 'said') return { ...answer, usage }
      last = answer.failure
      next = afterFailure({ ...last, tries, keys: route.endpoints.length })
    }
    if (next.do === 'stop') return { of: 'failed', failure: last, usage }
    if (next.restMs) park(place(world.tenantId, route), clock.now() + next.restMs)
  }
  return { of: 'failed', failure: last, usage }
}

function namesFor(task: SideTask, chain: readonly Route[], world: SideWorld): readonly string[] {
  const [main] = chain
  const sibling = main && auxModelOf(main.provider)
  const set = world.settings().auxiliary?.[task]
  return sideModels({
    set: set?.model,
    chain: set?.fallback_providers,
    // `none` is no model, and falls out like any other that cannot be asked.
    deployed: world.deployed,
    main: main?.id ?? '',
    sibling: main && sibling ? `${main.provider}/${sibling}` : undefined,
    fallbacks: chain.map(({ id }) => id),
    // Who brings a provider of its own may not want its words to be elsewhere; the stand-in costs nothing.
    others: /^(custom:|demo$)/.test(main?.provider ?? 'demo') ? [] : others,
  })
}

/** Without the stand-in, which understands no task. When all of them rest, they are asked all the same. */
function routesFor(task: SideTask, { models }: SideRequest, world: SideWorld): readonly Route[] {
  const chain = world.chain()
  const ids = models ?? namesFor(task, chain, world)
  const known = ids.flatMap((id) => chain.find((route) => route.id === id) ?? world.routeOf(id) ?? [])
  const isFit = ({ dialect, facts }: Route) => dialect !== 'demo' && (task !== 'vision' || facts?.images !== false)
  const routes = known.filter(isFit)
  const now = clock.now()
  const awake = routes.filter((route) => (parked.get(place(world.tenantId, route)) ?? 0) <= now)
  return awake.length ? awake : routes
}

/** Of every provider that can be asked; gateways that have everything first. */
const others = [...providers.filter(({ aggregator }) => aggregator), ...providers].flatMap(
  ({ id, auxModel, defaultModel }) => (auxModel || defaultModel ? [`${id}/${auxModel ?? defaultModel}`] : []),
)

/** A cheap model of the same provider, where its profile names one. */
function auxModelOf(provider: string): string | undefined {
  return providerOf(provider)?.auxModel
}

type Ask = {
  readonly task: SideTask
  readonly route: Route
  readonly request: SideRequest
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** By the tries before. */
  readonly spent: Usage
}

async function ask({ task, route, request, timeoutMs, signal, spent }: Ask, world: SideWorld): Promise<SideAnswer> {
  const dialect = world.dialects[route.dialect]
  const leased = dialect && world.lease(route)
  if (!dialect || !leased)
    return { of: 'failed', failure: { kind: 'unconfigured', message: `${route.id} cannot be asked.` }, usage: noUsage }
  const { system, maxTokens } = request
  const transcript = transcriptFor(route, request)
  const prompt = transcript.reduce((sum, message) => sum + tokensOf(message), tokensIn(system))
  let heard = ''
  const estimate = () => ({ ...noUsage, input: prompt, output: tokensIn(heard), costStatus: 'unknown' as const })
  world.note(addUsage(spent, billCut(estimate(), { route, task })))
  const controller = new AbortController()
  let isLate = false
  const cancelTimer = clock.later(timeoutMs, () => {
    isLate = true
    controller.abort()
  })
  try {
    const { message, usage } = await dialect.call(
      { model: route.model, system, transcript, tools: [], maxTokens },
      leased.endpoint,
      {
        signal: AbortSignal.any([signal, controller.signal]),
        hear: ({ text }) => void (heard += text),
        pulse: () => undefined,
        sleep: (ms) => clock.wait(ms),
      },
    )
    leased.end()
    const text = textIn(message).trim()
    const billed = bill(usage, estimate(), { route, task })
    if (text && message.stop !== 'refused') return { of: 'said', text, model: route.id, usage: billed }
    const kind = message.stop === 'refused' ? 'refused' : 'malformed'
    return { of: 'failed', failure: { kind, message: text.slice(0, 300) }, usage: billed }
  } catch (error) {
    const { contextWindow, reasoning, aggregator } = route
    const messages = transcript.length
    const around = {
      promptTokens: prompt,
      messages,
      now: clock.now(),
      contextWindow,
      reasoning,
      aggregator,
      key: leased.endpoint.key,
    }
    const failure = classify(error, { ...around, stalled: isLate })
    // A busy moment is not held against the key of the conversation.
    leased.end(failure.kind === 'rate' ? undefined : failure)
    const isCut = heard !== '' || isLate || failure.kind === 'aborted'
    return { of: 'failed', failure, usage: isCut ? billCut(estimate(), { route, task }) : noUsage }
  } finally {
    cancelTimer()
  }
}

/** Of the window: a count without a tokenizer may be low. */
const share = 0.85
/** Tokens for an answer that nobody gave a number. */
const answerRoom = 4_096

function transcriptFor({ contextWindow }: Route, { system, transcript, maxTokens = answerRoom }: SideRequest) {
  if (typeof transcript !== 'function') return transcript
  return transcript(Math.floor(contextWindow * share) - tokensIn(system) - maxTokens)
}
