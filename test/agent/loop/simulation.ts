/**
 * Runs the loop with random failures, evictions, repeated answers and interruptions, derived from a seed. Checks that the
 * turn ends and that its transcript is well-formed. A failing seed is reproducible and can be shrunk (shrink.ts).
 */

import { allowCall, requestStop, settlePendingCall } from '#agent/loop/turn-changes.ts'
import type { FailureKind } from '#agent/core/failure.ts'
import { type AssistantMessage, callsIn, type Message, textIn, userText } from '#agent/core/message.ts'
import { LoopHarness, Evicted } from '../support/scripted.ts'
import { askPerson, danger, failing, readFile, writeFile } from '../support/tools.ts'

const kinds: readonly FailureKind[] = [
  'auth',
  'key-dead',
  'quota',
  'rate',
  'upstream-rate',
  'overloaded',
  'server',
  'network',
  'stalled',
  'tls',
  'conflict',
  'malformed',
  'too-long',
  'too-large',
  'output-cap',
  'missing-model',
  'refused',
  'tool-content',
  'grammar',
  'invalid',
  'unknown',
]
const names = ['read_file', 'write_file', 'failing', 'danger', 'clarify', 'Read-File', 'nope']

/** mulberry32 */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

type Random = () => number
const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T

function reply(random: Random, nth: number): AssistantMessage {
  const text = random() < 0.4 ? '' : `words ${nth}`
  const count = random() < 0.6 ? Math.floor(random() * 4) : 0
  const calls = Array.from({ length: count }, (_, i) => ({
    type: 'call' as const,
    id: random() < 0.1 ? 'same' : random() < 0.1 ? '' : `c${nth}_${i}`,
    name: pick(random, names),
    input: { path: `/${Math.floor(random() * 3)}`, content: String(nth) },
    ...(random() < 0.05 && { raw: '{"broken' }),
  }))
  const thinking = random() < 0.2 ? [{ type: 'thinking' as const, text: 'hm' }] : []
  const stop = random() < 0.1 ? 'length' : calls.length ? 'tools' : 'end'
  return {
    role: 'assistant',
    content: [...thinking, ...(text ? [{ type: 'text' as const, text }] : []), ...calls],
    stop,
  }
}

type Conditions = { readonly failureRate: number; readonly isStopped: boolean }

function answerOf(
  random: Random,
  nth: number,
  { failureRate: trouble, isStopped }: Conditions,
): ReturnType<LoopHarness['script']> {
  if (isStopped && random() < 0.5) return { kind: 'aborted', message: '', partial: 'half' }
  if (random() >= trouble) return reply(random, nth)
  return {
    kind: pick(random, kinds),
    message: 'trouble',
    ...(random() < 0.3 && { partial: `piece ${nth} `, inCall: random() < 0.3 }),
    ...(random() < 0.2 && { retryAfterMs: Math.floor(random() * 1e6), available: 500 }),
  }
}

const partsOf = ({ content, stop }: AssistantMessage) =>
  `${content.map((part) => (part.type === 'call' ? part.name : part.type)).join(' + ') || 'nothing'} (${stop})`

function createHarness(random: Random, log: string[]): LoopHarness {
  const failureRate = random() * 0.5
  const harness = new LoopHarness(
    (_transcript, _turn, nth) => {
      if (random() < 0.05) {
        const mode = random() < 0.5 ? 'steer' : 'redirect'
        log.push(`message arrives: ${mode}`)
        harness.store.addToInbox(userText(`meanwhile ${nth}`), mode)
      }
      if (random() < 0.02) {
        log.push('stop')
        harness.store.save(requestStop(harness.store.turn()))
      }
      const answer = answerOf(random, nth, { failureRate: failureRate, isStopped: harness.store.turn().stopRequested })
      log.push('kind' in answer ? `fails: ${answer.kind}` : `answers: ${partsOf(answer)}`)
      return answer
    },
    { tools: [readFile, writeFile, failing, danger, askPerson], limit: 1 + Math.floor(random() * 12) },
  )
  harness.chain = [1 + Math.floor(random() * 3), Math.floor(random() * 3), 1]
  if (random() < 0.2) harness.contextTokens = 90
  if (random() < 0.3) harness.risksToApprove = new Set(['exec'])
  harness.maxConcurrent = 1 + Math.floor(random() * 4)
  harness.outputTokens = random() < 0.5 ? 0 : 5
  return harness
}

/** Answers all pending requests to a person, once or twice. */
function answerAll(harness: LoopHarness, random: Random) {
  const turn = harness.store.turn()
  if (turn.stage.at !== 'tools') return
  for (const call of turn.stage.calls) {
    const message = {
      role: 'tool',
      callId: call.id,
      name: call.name,
      content: [{ type: 'text', text: 'yes' }],
      failed: false,
    } as const
    if (call.state === 'away' && call.awaits.kind === 'approval' && random() < 0.6)
      harness.store.save(allowCall(harness.store.turn(), call.id, 'shown'))
    const times = random() < 0.3 ? 2 : 1
    for (let i = 0; i < times; i++) harness.store.save(settlePendingCall(harness.store.turn(), message, harness.view()))
  }
  harness.store.write()
}

/** The log of a simulation, and the violated invariant; undefined when all invariants hold. */
export type Simulated = { readonly violation: string | undefined; readonly log: readonly string[] }

/** `plantDefect` changes the harness before the simulation starts. */
export async function simulateWith(random: Random, plantDefect?: (harness: LoopHarness) => void): Promise<Simulated> {
  const log: string[] = []
  const harness = createHarness(random, log)
  plantDefect?.(harness)
  return { violation: await runToEnd(harness, random, log), log }
}

/** Runs the simulation of a seed. Returns the violated invariant, if any. */
export const simulate = async (seed: number) => (await simulateWith(randomFrom(seed))).violation

async function runToEnd(harness: LoopHarness, random: Random, log: string[]): Promise<string | undefined> {
  for (let restarts = 0; harness.store.turn().stage.at !== 'done'; restarts++) {
    if (restarts > 200) return 'the turn does not end'
    if (random() < 0.4) {
      const when = pick(random, ['before', 'after'] as const)
      harness.store.evict = { at: harness.store.writes + 1 + Math.floor(random() * 4), when }
    }
    try {
      await harness.run()
      answerAll(harness, random)
    } catch (error) {
      if (!(error instanceof Evicted)) return `the machine throws: ${String(error)}`
      log.push(`evicted ${harness.store.evict?.when} a write`)
    }
    harness.store.reload()
    if (harness.modelCalls > 400) return 'the model is called without end'
  }
  return findViolation(harness)
}

function findViolation(harness: LoopHarness): string | undefined {
  const transcript = harness.store.transcript()
  const turn = harness.store.turn()
  const last = transcript.at(-1)
  if (last?.role !== 'assistant') return 'the turn has no answer'
  if (!textIn(last).trim()) return 'the answer is blank'
  if (turn.budget.spent > turn.budget.limit) return 'more replies than the budget'
  if (isLost(harness, transcript)) return 'a message is lost'
  return wellFormed(transcript)
}

/** Checks for a message that was announced, but is neither in the transcript nor in the inbox. (The scripted summary drops messages.) */
function isLost(harness: LoopHarness, transcript: readonly Message[]): boolean {
  const { events } = harness.store
  if (!events.includes('run.steered') || events.includes('context.compressed')) return false
  return harness.store.inbox().length === 0 && !transcript.some((message) => textIn(message).includes('meanwhile'))
}

export function wellFormed(transcript: readonly Message[]): string | undefined {
  for (let i = 0; i < transcript.length; i++) {
    const message = transcript[i] as Message
    const before = transcript[i - 1]
    if (message.role !== 'tool' && message.role === before?.role) return `two of ${message.role} in a row at ${i}`
    if (message.role === 'tool' && before?.role === 'user') return `a result without a call at ${i}`
    if (message.role !== 'assistant') continue
    const callIds = callsIn(message).map(({ id }) => id)
    if (new Set(callIds).size !== callIds.length) return `two calls with one id at ${i}`
    const resultIds = transcript
      .slice(i + 1, i + 1 + callIds.length)
      .map((next) => (next.role === 'tool' ? next.callId : undefined))
    if (callIds.some((id, n) => resultIds[n] !== id)) return `a call without its result, or out of order, at ${i}`
  }
  return undefined
}
