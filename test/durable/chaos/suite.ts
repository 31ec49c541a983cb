/**
 * A provider that does everything wrong that providers do (reliability §8): each fault once as a blip, once for ever.
 * Whatever it is, the turn ends in time, with the right remedy, honest words and a transcript that every provider
 * accepts, and the session answers what is said next. The same for every dialect: a wire says how it is written.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import { applyMigrations } from '../../worker/client.ts'
import type { Run } from '../../worker/listen.ts'
import { type Answer, provider } from './bytes.ts'
import { type Fault, faultsOf, type Outcome } from './faults.ts'
import { type Line, linesOf, notesIn, oddIn, createChaosSession, sendMessage, troubleIn } from './place.ts'
import { answers, type Wire } from './wire.ts'
import { openaiChat } from './wires/openai-chat.ts'

type Story = {
  readonly run: Run
  readonly ms: number
  readonly lines: readonly Line[]
  readonly after: Run
  readonly linesAfter: readonly Line[]
}

/** Silences and pauses together take six seconds; the rest is for a busy machine. */
const boundMs = 40_000

type Script = (nth: number) => Answer

/** The time that a silence takes is all that there is to wait for. */
const silent = { first_byte_timeout: 1, idle_timeout: 1, max_wait_seconds: 0 }

async function tell(wire: Wire, answer: Script, how: Partial<Fault>): Promise<Story> {
  let isOver = false
  const scripted = provider((nth) => (isOver ? answers(wire, 'Back again.') : answer(nth)), wire.provider)
  const other = provider(() => answers(openaiChat, isOver ? 'Back again.' : 'All is well.'), 'openrouter')
  const place = await createChaosSession(scripted, {
    ...(!wire.provider && { models: { [scripted.id]: { dialect: wire.name } } }),
    ...(how.fallback && { fallback_providers: [other.id] }),
    ...(how.silent && { agent: silent }),
    ...(how.maxWaitSeconds && { agent: { max_wait_seconds: how.maxWaitSeconds } }),
  })
  const began = Date.now()
  const run = await sendMessage(place, 'go')
  const ms = Date.now() - began
  const lines = await linesOf(place)
  isOver = true
  const after = await sendMessage(place, 'still there?')
  return { run, ms, lines, after, linesAfter: await linesOf(place) }
}

/** So many at a time: more would stall each other on a small machine. */
function inTurns(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let [free, queue] = [most, [] as (() => void)[]]
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

const factsOf = ({ run, ms, lines, after, linesAfter }: Story) => ({
  did: notesIn(run),
  exit: run.exit_reason,
  isCompleted: run['completed'],
  output: run.output,
  isInTime: ms < boundMs,
  isStored: lines.at(-1)?.content === run.output,
  trouble: [...oddIn(run), ...troubleIn(lines), ...troubleIn(linesAfter)],
  after: [after.exit_reason, after.output],
})

const wanted = ({ did, exit, output }: Outcome): ReturnType<typeof factsOf> => ({
  did: did.map((one) => (typeof one === 'string' ? one : expect.stringMatching(one))),
  exit,
  isCompleted: exit === 'answered',
  output: expect.stringMatching(output),
  isInTime: true,
  isStored: true,
  trouble: [],
  after: ['answered', 'Back again.'],
})

const takeTurns = inTurns(60)
type Told = { readonly story: Story } | { readonly error: unknown }
const begin = (wire: Wire, answer: Script, how: Partial<Fault>): Promise<Told> =>
  takeTurns(() => tell(wire, answer, how)).then(
    (story) => ({ story }),
    (error: unknown) => ({ error }),
  )
async function told(promise: Promise<Told> | undefined): Promise<Story> {
  const end = await promise
  if (!end || 'error' in end) throw end?.error ?? new Error('The story was not told.')
  return end.story
}

/** Each fault once, and for ever. */
export function faultsAreGotOver(wire: Wire) {
  const faults = faultsOf(wire)

  describe(`a provider that speaks ${wire.name}`, () => {
    const blips = new Map<Fault, Promise<Told>>()
    const lasting = new Map<Fault, Promise<Told>>()
    // They wait most of the time: one after the other would take minutes. Those that wait longest begin.
    beforeAll(async () => {
      await applyMigrations()
      // What is loaded with the first call of a dialect must not be taken for silence.
      await tell(wire, () => answers(wire, 'Ready.'), {})
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
      async (one) => expect(factsOf(await told(blips.get(one)))).toEqual(wanted(one.blip)),
      60_000,
    )
    it.each(faults)(
      'fails for ever: $name',
      async (one) => expect(factsOf(await told(lasting.get(one)))).toEqual(wanted(one.lasting)),
      60_000,
    )
  })
}
