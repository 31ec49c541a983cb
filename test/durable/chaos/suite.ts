/**
 * Tests every fault of a provider (reliability §8) in every dialect, once as a single failure and once as a permanent
 * one. The turn must end in time, with the expected remedy and answer and a valid transcript, and the session must
 * answer the next message.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import { applyMigrations } from '../../worker/client.ts'
import type { Run } from '../../worker/listen.ts'
import { type Answer, provider } from './bytes.ts'
import { type Fault, faultsOf, type Outcome } from './faults.ts'
import {
  type Line,
  linesOf,
  notesIn,
  findInvalidCounts,
  createChaosSession,
  sendMessage,
  findTranscriptErrors,
} from './chaos-session.ts'
import { answers, type Wire } from './wire.ts'
import { isLong } from '#test/support/long.ts'
import { anthropic } from './wires/anthropic.ts'
import { bedrock } from './wires/bedrock.ts'
import { openaiChat } from './wires/openai-chat.ts'
import { openaiResponses } from './wires/openai-responses.ts'
import { workersAi } from './wires/workers-ai.ts'

type ScenarioResult = {
  readonly run: Run
  readonly ms: number
  readonly lines: readonly Line[]
  readonly after: Run
  readonly linesAfter: readonly Line[]
}

/** Timeouts and pauses take at most six seconds; the rest is for a slow machine. */
const maxTurnMs = 40_000

type Script = (nth: number) => Answer

/** Settings that give up after the first timeout. */
const silent = { first_byte_timeout: 1, idle_timeout: 1, max_wait_seconds: 0 }

async function runScenario(wire: Wire, answer: Script, how: Partial<Fault>): Promise<ScenarioResult> {
  let isOver = false
  const scripted = provider((nth) => (isOver ? answers(wire, 'Back again.') : answer(nth)), wire.provider)
  const other = provider(() => answers(openaiChat, isOver ? 'Back again.' : 'All is well.'), 'openrouter')
  const session = await createChaosSession(scripted, {
    ...(!wire.provider && { models: { [scripted.id]: { dialect: wire.name } } }),
    ...(how.fallback && { fallback_providers: [other.id] }),
    ...(how.silent && { agent: silent }),
    ...(how.maxWaitSeconds && { agent: { max_wait_seconds: how.maxWaitSeconds } }),
  })
  const began = Date.now()
  const run = await sendMessage(session, 'go')
  const ms = Date.now() - began
  const lines = await linesOf(session)
  isOver = true
  const after = await sendMessage(session, 'still there?')
  return { run, ms, lines, after, linesAfter: await linesOf(session) }
}

/** Limits concurrent work: more scenarios would slow each other down on a small machine. */
function limitConcurrency(maxConcurrent: number): <T>(work: () => Promise<T>) => Promise<T> {
  let [free, queue] = [maxConcurrent, [] as (() => void)[]]
  return async (work) => {
    if (free === 0) await new Promise<void>((go) => queue.push(go))
    else free--
    try {
      return await work()
    } finally {
      const next = queue.shift()
      if (next) next()
      else free++
    }
  }
}

const factsOf = ({ run, ms, lines, after, linesAfter }: ScenarioResult) => ({
  did: notesIn(run),
  exit: run.exit_reason,
  isCompleted: run['completed'],
  output: run.output,
  isInTime: ms < maxTurnMs,
  isStored: lines.at(-1)?.content === run.output,
  trouble: [...findInvalidCounts(run), ...findTranscriptErrors(lines), ...findTranscriptErrors(linesAfter)],
  after: [after.exit_reason, after.output],
})

const expectedFacts = ({ did, exit, output }: Outcome): ReturnType<typeof factsOf> => ({
  did: did.map((one) => (typeof one === 'string' ? one : expect.stringMatching(one))),
  exit,
  isCompleted: exit === 'answered',
  output: expect.stringMatching(output),
  isInTime: true,
  isStored: true,
  trouble: [],
  after: ['answered', 'Back again.'],
})

const limited = limitConcurrency(12)
type Settled = { readonly result: ScenarioResult } | { readonly error: unknown }
const begin = (wire: Wire, answer: Script, how: Partial<Fault>): Promise<Settled> =>
  limited(() => runScenario(wire, answer, how)).then(
    (result) => ({ result }),
    (error: unknown) => ({ error }),
  )
async function resultOf(promise: Promise<Settled> | undefined): Promise<ScenarioResult> {
  const end = await promise
  if (!end || 'error' in end) throw end?.error ?? new Error('The scenario did not run.')
  return end.result
}

const wires = [anthropic, bedrock, openaiResponses, workersAi, openaiChat]

/** The dialects take turns with the faults. The last one has all, also those that the one whose turn it is cannot have. */
const known = new Map(
  faultsOf(openaiChat).map(({ name }, at) => {
    const wire = wires[at % wires.length]
    return [name, wire && faultsOf(wire).some((fault) => fault.name === name) ? wire : openaiChat]
  }),
)

/** Tests each fault as a single failure and as a permanent one: in one dialect, in `npm run chaos` in each that has it. */
export function testFaults(wire: Wire) {
  const faults = faultsOf(wire).filter(({ name }) => isLong || (known.get(name) ?? wire) === wire)

  describe(`a provider with the wire ${wire.name}`, () => {
    const blips = new Map<Fault, Promise<Settled>>()
    const lasting = new Map<Fault, Promise<Settled>>()
    // Scenarios mostly wait, so they run concurrently. The slowest ones start first.
    beforeAll(async () => {
      await applyMigrations()
      // The first call of a dialect loads code, which must not count as a timeout.
      await runScenario(wire, () => answers(wire, 'Ready.'), {})
      const silentFirst = faults.toSorted((a, b) => Number(b.silent ?? 0) - Number(a.silent ?? 0))
      for (const one of silentFirst) {
        const { fallback: _, ...alone } = one
        lasting.set(
          one,
          begin(wire, () => one.fault, alone),
        )
      }
      for (const one of silentFirst)
        blips.set(
          one,
          begin(wire, (nth) => (nth === 0 ? one.fault : answers(wire, 'All is well.')), one),
        )
    }, 60_000)

    it.each(faults)(
      'fails once: $name',
      async (one) => expect(factsOf(await resultOf(blips.get(one)))).toEqual(expectedFacts(one.blip)),
      60_000,
    )
    it.each(faults)(
      'fails permanently: $name',
      async (one) => expect(factsOf(await resultOf(lasting.get(one)))).toEqual(expectedFacts(one.lasting)),
      60_000,
    )
  })
}
