import { describe, expect, it } from 'vitest'
import type { LoopHarness } from '../support/scripted.ts'
import { record, replay, shrink } from './shrink.ts'
import { simulate, simulateWith } from './simulation.ts'

const runs = Number(process.env['SIMULATIONS'] ?? 500)
const first = Number(process.env['SEED'] ?? 1)

it(`every turn ends well in ${runs} simulations with failures, evictions and interruptions`, async () => {
  const violations: string[] = []
  for (let seed = first; seed < first + runs && violations.length < 5; seed++) {
    const found = await simulate(seed)
    if (found) violations.push(await reported(seed, found))
  }
  expect(violations).toEqual([])
}, 600_000)

/** Reports the seed and the shortest log found with the same violation. */
async function reported(seed: number, violation: string, run = runWithoutDefect) {
  const { tape } = await record(seed, run)
  const { log } = await replay(await shrink(tape, violation, run), run)
  return [`seed ${seed}: ${violation}`, ...log].join('\n  ')
}

const runWithoutDefect = (random: () => number) => simulateWith(random)

describe('a defect that needs two conditions', () => {
  /** Loses messages that arrive after a restart. */
  const plantLostMessages = (harness: LoopHarness) => {
    const { save } = harness.store
    harness.store.save = (commit) => {
      const loses = commit.drain?.length && commit.turn.crashes.total > 0
      save(loses ? { ...commit, append: (commit.append ?? []).filter(({ role }) => role !== 'user') } : commit)
    }
  }
  const runWithDefect = (random: () => number) => simulateWith(random, plantLostMessages)

  async function firstFailing() {
    for (let seed = 1; seed < 5_000; seed++) {
      const recorded = await record(seed, runWithDefect)
      if (recorded.violation === 'a message is lost') return { seed, ...recorded }
    }
    throw new Error('The simulation does not find it.')
  }

  it('is found, is reproduced by its seed, and shrinks to a short log that passes without the defect', async () => {
    const { seed, tape, violation = '', log } = await firstFailing()
    expect(await record(seed, runWithDefect)).toEqual({ tape, violation, log })

    const short = await shrink(tape, violation, runWithDefect)
    const shrunk = await replay(short, runWithDefect)
    expect(shrunk.violation).toBe(violation)
    expect(shrunk.log.length).toBeLessThanOrEqual(6)
    expect(shrunk.log.filter((event) => /^(evicted|message arrives)/.test(event)).length).toBe(2)
    expect((await replay(short, runWithoutDefect)).violation).toBe(undefined)
    expect(await reported(seed, violation, runWithDefect)).toBe(
      [`seed ${seed}: ${violation}`, ...shrunk.log].join('\n  '),
    )
  }, 60_000)
})
