/** Performs the steps of a turn: calls models, runs tools, compresses. What goes wrong comes back as data. */

import type { Delta, Dialect, ModelRequest, ToolSchema } from '../agent/model/dialect.ts'
import type { Failure } from '../agent/model/failure.ts'
import { callsIn, type Message, textIn, userText } from '../agent/model/message.ts'
import type { Perform } from '../agent/model/ports.ts'
import type { Step } from '../agent/model/step.ts'
import type { Result, ToolCall, Turn } from '../agent/model/turn.ts'
import { noUsage } from '../agent/model/usage.ts'
import { asText, excerpt, keepFrom, summaryRequest } from '../agent/prompt/compress.ts'
import { classify } from '../agent/wire/classify.ts'
import type { DialectName } from '../agent/wire/providers.ts'
import type { Route } from '../agent/wire/route.ts'
import { failpoint } from './failpoint.ts'
import { price } from './price.ts'
import { withIdleLimit } from './idle-limit.ts'

export type World = {
  readonly dialects: Readonly<Record<DialectName, Dialect>>
  /** The models of this turn, in order of preference. */
  readonly routes: (turn: Turn) => readonly Route[]
  readonly system: (turn: Turn) => string
  readonly transcript: () => Promise<readonly Message[]>
  readonly toolSchemas: () => readonly ToolSchema[]
  readonly runTools: (calls: readonly ToolCall[], signal: AbortSignal) => AsyncIterable<Result>
  readonly hear: (delta: Delta) => void
  /** Everything heard has been handed on (`kept`), or is never to be (`!kept`). */
  readonly heardAll: (kept: boolean) => void
  /** A controller that stop and redirect can reach while the step runs. */
  readonly abortable: () => AbortController
}

export function performer(world: World): Perform {
  return (step, turn) => perform(step, turn, world)
}

async function* perform(step: Step, turn: Turn, world: World): AsyncGenerator<Result> {
  if (step.do === 'call-model') yield await callModel(step, turn, world)
  else if (step.do === 'run-tools') yield* world.runTools(step.calls, world.abortable().signal)
  else if (step.do === 'compress') yield await compress(turn, world)
}

type ModelStep = Extract<Step, { do: 'call-model' }>

async function callModel(step: ModelStep, turn: Turn, world: World): Promise<Result> {
  const found = endpointOf(turn, world)
  if (!found) return { of: 'failure', failure: { kind: 'unconfigured', message: '' } }
  let partial = ''
  const hear = (delta: Delta) => {
    if (delta.of === 'text') partial += delta.text
    world.hear(delta)
  }
  try {
    await failpoint('before-model')
    const { options } = turn
    const request: ModelRequest = {
      model: found.route.model,
      system: world.system(turn),
      transcript: await world.transcript(),
      tools: step.tools ? world.toolSchemas() : [],
      say: step.say,
      maxTokens: options.maxTokens,
      temperature: options.temperature,
      reasoningEffort: options.reasoningEffort,
    }
    const { message, usage } = await withIdleLimit(world.abortable(), (signal, pulse) =>
      world.dialects[found.route.dialect].call(request, found.endpoint, { signal, hear, pulse, sleep }),
    )
    world.heardAll(true)
    if (!callsIn(message).length) await failpoint('before-final')
    const priced = price(usage, found.route)
    if (message.stop === 'refused') return { of: 'failure', failure: refusal(textIn(message)), partial, usage: priced }
    return { of: 'model', reply: message, usage: priced }
  } catch (error) {
    const failure = classify(error)
    // What people saw stays theirs when they stopped it themselves; otherwise another answer is coming.
    world.heardAll(failure.kind === 'aborted')
    return { of: 'failure', failure, ...(partial && { partial }) }
  }
}

const refusal = (words: string): Failure => ({ kind: 'refused', message: words.slice(0, 300) })

const sleep = (ms: number) => scheduler.wait(ms)

function endpointOf(turn: Turn, world: World) {
  const route = world.routes(turn)[turn.route.model]
  const endpoint = route?.endpoints[turn.route.key] ?? route?.endpoints[0]
  return route && endpoint && { route, endpoint }
}

/** Asks the model of this turn for a summary; without one, the beginning and the end have to do. */
async function compress(turn: Turn, world: World): Promise<Result> {
  const transcript = await world.transcript()
  const old = transcript.slice(0, keepFrom(transcript))
  if (!old.length) return { of: 'failure', failure: { kind: 'too-long', message: 'there is nothing left to shorten' } }
  const found = endpointOf(turn, world)
  try {
    if (!found) throw new Error('no model')
    const { message, usage } = await withIdleLimit(world.abortable(), (signal, pulse) =>
      world.dialects[found.route.dialect].call(
        { model: found.route.model, system: summaryRequest, transcript: [userText(asText(old))], tools: [] },
        found.endpoint,
        { signal, pulse, sleep, hear: () => {} },
      ),
    )
    return { of: 'summary', text: textIn(message) || excerpt(old), usage: price(usage, found.route) }
  } catch (error) {
    const failure = classify(error)
    if (failure.kind === 'aborted') return { of: 'failure', failure }
    return { of: 'summary', text: excerpt(old), usage: noUsage }
  }
}
