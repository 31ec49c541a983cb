/** Tests spending limits, and how a turn over its limit ends. */

import { describe, expect, it } from 'vitest'
import type { Limits } from '#agent/core/settings.ts'
import { textIn } from '#agent/core/message.ts'
import { noUsage } from '#agent/core/usage.ts'
import { findExceededLimit, findNearLimit, findReachedLimit, type Spent } from '#agent/policy/spending-limit.ts'
import { LoopHarness, calls, fails, says } from '../support/scripted.ts'
import { readFile } from '../support/tools.ts'

const cost = (costUsd: number) => ({ ...noUsage, costUsd })
const tokens = (input: number) => ({ ...noUsage, input })

/** As many calls add up: 0.11999999999999998 for twelve cents. */
const sumOf = (calls: number, each: number): number =>
  Array.from({ length: calls }).reduce<number>((sum) => sum + each, 0)

describe('a spending limit', () => {
  const cases: readonly (readonly [string, Limits, Partial<Spent>, string | undefined])[] = [
    ['that is not set limits nothing', {}, { turn: cost(1_000), session: cost(1_000) }, undefined],
    ['of a turn is reached by the turn', { usd_per_turn: 1 }, { turn: cost(1) }, 'usd_per_turn'],
    ['of a turn is not reached by the session', { usd_per_turn: 1 }, { turn: cost(0.9), session: cost(5) }, undefined],
    ['of a session is reached by the session', { usd_per_session: 1 }, { session: cost(1.5) }, 'usd_per_session'],
    ['of tokens is reached by the turn', { tokens_per_turn: 10 }, { turn: tokens(10) }, 'tokens_per_turn'],
    ['of tokens is reached by the session', { tokens_per_session: 9 }, { session: tokens(10) }, 'tokens_per_session'],
    [
      'of a session is reached by the exact sum',
      { usd_per_session: 0.12 },
      { session: cost(sumOf(12, 0.01)) },
      'usd_per_session',
    ],
    ['of a session has room for a cent', { usd_per_session: 0.13 }, { session: cost(sumOf(12, 0.01)) }, undefined],
    ['of tokens is not reached by cost', { tokens_per_turn: 10 }, { turn: cost(100) }, undefined],
  ]
  it.each(cases)('%s', (_what, limits, spent, over) => {
    expect(findReachedLimit(limits, { turn: noUsage, session: noUsage, ...spent })).toBe(over)
  })
})

it('a call whose price fits exactly is within the limit', () => {
  const spent = { turn: noUsage, session: cost(sumOf(2, 0.1)) }
  expect(findExceededLimit({ usd_per_session: 0.3 }, spent, { tokens: 0, usd: 0.1 })).toBeUndefined()
  expect(findExceededLimit({ usd_per_session: 0.3 }, spent, { tokens: 0, usd: 0.11 })).toBe('usd_per_session')
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

  it('ends with a notice of what was done, and no further call', async () => {
    const made = harness(1, calls('read_file'), says('never'))
    expect((await made.run()).stage).toMatchObject({ at: 'done', outcome: 'out-of-budget' })
    expect([made.modelCalls, made.ran.length]).toEqual([1, 1])
    expect(lastText(made)).toContain('The limit usd_per_turn is reached.')
    expect(lastText(made)).toContain('read_file')
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

describe('a call that no limit has room for', () => {
  const refused = (retryAfterMs?: number) => ({
    ...fails('limit', retryAfterMs),
    message: 'The limit usd_per_day is reached.',
  })
  const lastText = (made: LoopHarness) => textIn(made.store.transcript().at(-1)!)

  it('waits while other calls have reserved the rest, and is then sent', async () => {
    const made = new LoopHarness([refused(1_000), refused(1_000), says('done')])
    const turn = await made.run()
    expect([lastText(made), turn.waited, turn.used['model call']]).toEqual(['done', 2_000, 1])
  })

  it('ends the turn when the limit is used up', async () => {
    const made = new LoopHarness([calls('read_file'), refused()], { tools: [readFile] })
    const turn = await made.run()
    expect(turn.stage).toMatchObject({ at: 'done', outcome: 'out-of-budget' })
    expect([turn.used['model call'], lastText(made)]).toEqual([1, expect.stringContaining('usd_per_day')])
  })

  it('waits no longer than a turn may wait', async () => {
    const made = new LoopHarness(() => refused(1_000))
    made.limits = { ...made.limits, maxWaitMs: 5_000 }
    expect((await made.run()).stage).toMatchObject({ at: 'done', outcome: 'out-of-budget' })
    expect(made.modelCalls).toBe(6)
  })

  it('asks the next model when its price is unknown', async () => {
    const made = new LoopHarness((_t, turn) => (turn.route.model ? says('priced') : fails('unpriced')))
    made.chain = [1, 1]
    await made.run()
    expect(lastText(made)).toBe('priced')
    const alone = new LoopHarness([fails('unpriced')])
    expect((await alone.run()).stage).toMatchObject({ outcome: 'failed', failure: { kind: 'unpriced' } })
    expect(lastText(alone)).toContain('price of the model is unknown')
  })
})

describe('a limit that is nearly used up', () => {
  it.each<readonly [string, Limits, Partial<Spent>, number, unknown]>([
    ['of a turn warns from 80 %', { usd_per_turn: 1 }, { turn: cost(0.8) }, 0, { limit: 'usd_per_turn', percent: 80 }],
    ['of a turn does not warn below', { usd_per_turn: 1 }, { turn: cost(0.79) }, 0, undefined],
    [
      'of a session warns once',
      { usd_per_session: 1 },
      { session: cost(0.9) },
      0.5,
      { limit: 'usd_per_session', percent: 90 },
    ],
    ['of a session was there before the turn', { usd_per_session: 1 }, { session: cost(0.9) }, 0.85, undefined],
  ])('%s', (_what, limits, spent, ...[before, warning]) => {
    expect(findNearLimit(limits, { turn: noUsage, session: noUsage, ...spent }, cost(before))).toEqual(warning)
  })

  it('is noted and announced once in a turn', async () => {
    const made = new LoopHarness([calls('read_file'), says('done')], { tools: [readFile] })
    const { view: look } = made
    made.view = () => ({ ...look(), limitWarning: { limit: 'usd_per_day', percent: 83 } })
    const turn = await made.run()
    expect(turn.notes).toMatchObject([{ did: 'warn', why: '83 % of usd_per_day' }])
    expect(made.store.events.filter((event) => event === 'status warning')).toHaveLength(1)
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
