/** Performs the steps of a turn: calls models, runs tools, compresses. What goes wrong comes back as data. */

import {
  type Delta,
  type Dialect,
  type DialectName,
  Dropped,
  type Endpoint,
  type ModelRequest,
  type ToolSchema,
} from '../../agent/model/dialect.ts'
import type { Failure } from '../../agent/model/failure.ts'
import { type AssistantMessage, callsIn, type Message, textIn } from '../../agent/model/message.ts'
import type { Perform } from '../../agent/model/ports.ts'
import type { Settings } from '../../agent/model/settings.ts'
import type { Step } from '../../agent/model/step.ts'
import type { Result, ToolCall, Turn } from '../../agent/model/turn.ts'
import { addUsage, noUsage, type Usage } from '../../agent/model/usage.ts'
import { type Circumstances, classify } from '../../agent/providers/errors/classify.ts'
import { isNestedDeeply, mostNested } from '../../agent/providers/shared/nesting.ts'
import type { Route } from '../../agent/routing/route.ts'
import { failpoint } from '../platform/failpoint.ts'
import { type IdleLimits, Stalled, withIdleLimit } from '../models/idle-timeout.ts'
import { bill, billCut } from '../models/pricing.ts'
import type { Side } from '../models/side-task.ts'
import { summarise } from './summarise.ts'
import { clock } from '../platform/clock.ts'

export type Chosen = { readonly route: Route; readonly endpoint: Endpoint }

export type World = {
  readonly dialects: Readonly<Partial<Record<DialectName, Dialect>>>
  /** The model and the key of the next call; undefined when there are none. */
  readonly choose: (turn: Turn) => Chosen | undefined
  /** Why there are none, in words. */
  readonly missing: (turn: Turn) => string
  /** A call with this key begins; the returned function ends it. */
  readonly lease: (chosen: Chosen) => (failure?: Failure) => void
  readonly system: (turn: Turn) => string
  readonly transcript: () => Promise<readonly Message[]>
  readonly toolSchemas: () => readonly ToolSchema[]
  readonly runTools: (calls: readonly ToolCall[], signal: AbortSignal) => AsyncIterable<Result>
  readonly hear: (delta: Delta) => void
  /** Everything heard has been handed on (`kept`), or is never to be (`!kept`). */
  readonly heardAll: (kept: boolean) => void
  /** A controller that stop and redirect can reach while the step runs. */
  readonly abortable: () => AbortController
  readonly circumstances: (route: Route, stalled: boolean) => Circumstances
  readonly limits: (route: Route) => IdleLimits
  /** Tokens of the prompt and of these words, for a call whose usage never came. */
  readonly estimate: (said: string) => Usage
  /** How many messages at the end no summary takes; undefined: as many as usual. */
  readonly protectedMessages: () => number | undefined
  /** A call beside the conversation; a stop of the turn ends it. */
  readonly side: Side
  /** What other models say to this, where the turn asks a mixture of them; only for this call. */
  readonly references: (turn: Turn, transcript: readonly Message[]) => Promise<string | undefined>
  /** What was spent beside the conversation since the last call. */
  readonly asides: () => Usage | undefined
  /** The turn has spent this, besides what it knows of; resolves when those who count have heard of it. */
  readonly charge: (turn: Turn, usage: Usage) => Promise<void>
  readonly defaults: () => ModelDefaults
}

/** For what the request does not say. */
export type ModelDefaults = NonNullable<Settings['model']>

export function performer(world: World): Perform {
  return (step, turn) => perform(step, turn, world)
}

async function* perform(step: Step, turn: Turn, world: World): AsyncGenerator<Result> {
  if (step.do === 'call-model') yield await charged(await callModel(step, turn, world), turn, world)
  else if (step.do === 'run-tools') yield* world.runTools(step.calls, world.abortable().signal)
  else if (step.do === 'compress') yield await charged(await compress(turn, world), turn, world)
}

/** Before the next call is decided on, those who count know of this one. */
async function charged<R extends Extract<Result, { of: 'model' | 'summary' | 'failure' }>>(
  result: R,
  turn: Turn,
  world: World,
): Promise<R> {
  const asides = world.asides()
  const usage = asides ? addUsage(result.usage ?? noUsage, asides) : result.usage
  if (!usage) return result
  await world.charge(turn, usage)
  return { ...result, usage }
}

type ModelStep = Extract<Step, { do: 'call-model' }>

type Spoken = Extract<Result, { of: 'model' | 'failure' }>

async function callModel(step: ModelStep, turn: Turn, world: World): Promise<Spoken> {
  const chosen = world.choose(turn)
  if (!chosen) return { of: 'failure', failure: { kind: 'unconfigured', message: world.missing(turn) } }
  const said = { text: '', thought: '', isSent: false, isOver: false }
  const hear = (delta: Delta) => {
    // An attempt that was given up is not heard any more, whatever its stream still brings.
    if (said.isOver || controller.signal.aborted) return
    if (delta.of === 'text') said.text += delta.text
    else said.thought += delta.text
    world.hear(delta)
  }
  const release = world.lease(chosen)
  // Before anything is waited for: who stops now must not be overheard.
  const controller = world.abortable()
  try {
    await failpoint('before-model')
    const request = await requestFor(step, turn, world, chosen)
    said.isSent = true
    const { message, usage } = await speak({ request, chosen, controller, hear }, world)
    world.heardAll(true)
    if (!callsIn(message).length) await failpoint('before-final')
    const billed = bill(usage, world.estimate(wordsOf(message)), chosen)
    const failure = message.stop === 'refused' ? refusal(textIn(message)) : undefined
    release(failure)
    return failure
      ? { of: 'failure', failure, partial: said.text, usage: billed, key: chosen.endpoint.id }
      : { of: 'model', reply: message, usage: billed }
  } catch (error) {
    said.isOver = true
    const failure = failureOf(error, chosen, world)
    // A call that was cut off because the turn's time is over says nothing about the model.
    release(isLate(error) ? undefined : failure)
    // What people saw stays when they cancelled it themselves, or when the text is going to be continued.
    const inCall = error instanceof Dropped && error.inCall
    world.heardAll(failure.kind === 'aborted' || isContinued(failure, inCall))
    const heard = said.text + said.thought
    // Of what was never begun to be answered, providers bill nothing; what we cancel ourselves they may.
    const isBilled = [heard !== '', inCall, failure.kind === 'aborted' && said.isSent].some(Boolean)
    const cut = {
      ...(said.text && { partial: said.text }),
      ...(isBilled && { usage: billCut(world.estimate(heard), chosen) }),
    }
    return { of: 'failure', failure, inCall, key: chosen.endpoint.id, ...cut }
  }
}

/** All that a model said, calls included, for an estimate. */
const wordsOf = ({ content }: AssistantMessage): string =>
  content.map((part) => (part.type === 'call' ? `${part.name} ${JSON.stringify(part.input)}` : part.text)).join('\n')

async function requestFor(step: ModelStep, turn: Turn, world: World, { route }: Chosen): Promise<ModelRequest> {
  const { options, repairs, draft } = turn
  const defaults = world.defaults()
  const transcript = await world.transcript()
  const say = [await world.references(turn, transcript), step.say].filter((word) => word !== undefined)
  return {
    model: route.model,
    system: world.system(turn),
    transcript,
    tools: step.tools ? world.toolSchemas() : [],
    draft,
    say: say.length ? say.join('\n\n') : undefined,
    maxTokens: repairs.maxTokens ?? options.maxTokens ?? defaults.max_tokens,
    temperature: options.temperature ?? defaults.temperature,
    reasoningEffort: options.reasoningEffort ?? defaults.reasoning_effort,
    cache: route.cache,
    repairs,
  }
}

type Call = {
  readonly request: ModelRequest
  readonly chosen: Chosen
  readonly controller: AbortController
  readonly hear: (delta: Delta) => void
}

async function speak({ request, chosen: { route, endpoint }, controller, hear }: Call, world: World) {
  const dialect = world.dialects[route.dialect]
  if (!dialect) throw new Error(`There is no dialect ${route.dialect}.`)
  const reply = await withIdleLimit(controller, world.limits(route), (signal, pulse) =>
    dialect.call(request, endpoint, { signal, hear, pulse, sleep }),
  )
  // It could be read, but not written.
  if (isNestedDeeply(reply.message, 2 * mostNested)) throw new Error('The answer is nested too deeply.')
  return reply
}

const failureOf = (error: unknown, { route, endpoint }: Chosen, world: World): Failure =>
  isLate(error)
    ? { kind: 'stalled', message: 'the time of the turn is over' }
    : classify(error, { ...world.circumstances(route, error instanceof Stalled), key: endpoint.key })

const isLate = (error: unknown) => error instanceof Stalled && error.isLate

const isContinued = ({ kind }: Failure, inCall: boolean) => !inCall && (kind === 'network' || kind === 'stalled')

const refusal = (words: string): Failure => ({ kind: 'refused', message: words.slice(0, 300) })

const sleep = (ms: number) => clock.wait(ms)

async function compress(turn: Turn, world: World): Promise<Extract<Result, { of: 'summary' | 'failure' }>> {
  const { stage } = turn
  const focus = stage.at === 'compressing' ? stage.focus : undefined
  const transcript = await world.transcript().catch((error: unknown) => ({ failure: unread(error, turn, world) }))
  if ('failure' in transcript) return { of: 'failure', ...transcript }
  const summary = await summarise(transcript, { focus, keep: world.protectedMessages() }, world.side)
  if (summary.of === 'nothing')
    return { of: 'failure', failure: { kind: 'too-long', message: 'there is nothing left to shorten' } }
  // What it cost comes with the other asides.
  return summary.of === 'summary' ? { ...summary, usage: noUsage } : summary
}

/** Its images could not be fetched, for example: the table of remedies knows what to do. */
function unread(error: unknown, turn: Turn, world: World): Failure {
  const chosen = world.choose(turn)
  return chosen ? failureOf(error, chosen, world) : { kind: 'unconfigured', message: '' }
}
