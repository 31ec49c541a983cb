/** Tests spending limits, and how a turn over its limit ends. */

import { describe, expect, it } from 'vitest'
import type { Limits } from '../../../src/agent/model/settings.ts'
import { textIn } from '../../../src/agent/model/message.ts'
import { noUsage } from '../../../src/agent/model/usage.ts'
import { findReachedLimit, type Spent } from '../../../src/agent/policy/spending-limit.ts'
import { LoopHarness, calls, says } from '../support/scripted.ts'
import { readFile } from '../support/tools.ts'

const cost = (costUsd: number) => ({ ...noUsage, costUsd })

describe('a spending limit', () => {
  const cases: readonly (readonly [string, Limits, Partial<Spent>, string | undefined])[] = [
    ['that is not set limits nothing', {}, { turn: cost(1_000), session: cost(1_000) }, undefined],
    ['of a turn is reached by the turn', { usd_per_turn: 1 }, { turn: cost(1) }, 'usd_per_turn'],
    ['of a turn is not reached by the session', { usd_per_turn: 1 }, { turn: cost(0.9), session: cost(5) }, undefined],
    ['of a session is reached by the session', { usd_per_session: 1 }, { session: cost(1.5) }, 'usd_per_session'],
    [
      'of a day is reached when the tenant reports it',
      {},
      { reached: { limit: 'usd_per_day', until: 11 } },
      'usd_per_day',
    ],
    ['of a day ends with the day', {}, { reached: { limit: 'usd_per_day', until: 10 } }, undefined],
  ]
  it.each(cases)('%s', (_what, limits, spent, over) => {
    expect(findReachedLimit(limits, { turn: noUsage, session: noUsage, ...spent }, 10)).toBe(over)
  })
})

describe('a turn over its spending limit', () => {
  /** The limit is reached after this many calls. */
  function harness(after: number, ...replies: readonly ReturnType<typeof says>[]) {
    const made = new LoopHarness([...replies], { tools: [readFile] })
    const { view: look } = made
    made.view = () => ({ ...look(), ...(made.modelCalls >= after && { limitReached: 'usd_per_turn' }) })
    return made
  }
  const lastText = (made: LoopHarness) => textIn(made.store.transcript().at(-1)!)

  it('gets one call without tools for its answer', async () => {
    const made = harness(1, calls('read_file'), says('what I have'))
    expect((await made.run()).stage).toMatchObject({ at: 'done', outcome: 'out-of-budget' })
    expect([made.modelCalls, made.ran.length, lastText(made)]).toEqual([2, 1, 'what I have'])
    expect(made.steps.at(-1)).toMatchObject({ do: 'call-model', tools: false })
    expect(made.steps.at(-1)).toHaveProperty('say', expect.stringContaining('usd_per_turn'))
  })

  it('ends with the reason when the model requests tools again', async () => {
    const made = harness(1, calls('read_file'), calls('read_file'), says('never'))
    expect((await made.run()).stage).toMatchObject({ at: 'done', outcome: 'out-of-budget' })
    expect([made.modelCalls, made.ran.length]).toEqual([2, 1])
    expect(lastText(made)).toContain('The limit usd_per_turn is reached.')
    expect(lastText(made)).not.toContain('max_turns')
  })

  it('makes no model call before its first step', async () => {
    const made = harness(0, says('never'))
    expect((await made.run()).stage).toMatchObject({ at: 'done', outcome: 'out-of-budget' })
    expect([made.modelCalls, lastText(made)]).toEqual([0, expect.stringContaining('usd_per_turn')])
  })

  it('is answered when the call that reaches the limit is the answer', async () => {
    const made = harness(1, says('done'))
    expect((await made.run()).stage).toMatchObject({ at: 'done', outcome: 'answered' })
  })
})

describe('a call whose result is lost', () => {
  it('counts for the usage of the turn', async () => {
    const made = new LoopHarness([says('at last')])
    const { view: look } = made
    made.view = () => ({ ...look(), lostCall: { usage: { ...noUsage, input: 500 } } })
    made.store.evict = { at: 1, when: 'after' }
    await made.run().catch(() => made.store.reload())
    const turn = await made.run()
    expect([turn.stage.at, turn.usage.input, turn.usage.output]).toEqual(['done', 500, 1])
  })
})
