/** Tests the pure parts of the screens: palette, diffs before saving, steps of a run. */

import { describe, expect, it } from 'vitest'
import { isDefiniteRefusal } from '../../web/model/delivery.ts'
import { parseSchedule } from '#agent/schedule/parse-schedule.ts'
import { diffLines, patchBetween } from '../../web/model/line-diff.ts'
import { findMatches } from '../../web/model/palette.ts'
import { addToSteps, listSteps, type RunStep } from '../../web/model/run-steps.ts'
import { barsOf, cacheShareOf } from '../../web/model/usage.ts'
import { scheduleExamples } from '../../web/model/schedule-examples.ts'
import type { SessionEvent } from '../../web/model/types.ts'

describe('the palette', () => {
  const names = ['Sessions', 'Settings', 'My settings', 'Usage', 'Inbox']
  const find = (text: string) =>
    findMatches(
      names.map((name) => ({ name })),
      text,
    ).map(({ name }) => name)
  it.each([
    ['', names],
    ['set', ['Settings', 'My settings']],
    ['SETT', ['Settings', 'My settings']],
    ['age', ['Usage']],
    ['ibx', ['Inbox']],
    ['ss', ['Sessions', 'Settings', 'My settings']],
    ['zz', []],
  ])('finds %j', (text, found) => expect(find(text)).toEqual(found))
})

describe('the diff before saving', () => {
  it.each([
    ['a\nb', 'a\nb', ''],
    ['a\nb\nc', 'a\nx\nc', ' a\n-b\n+x\n c'],
    ['a', 'a\nb', ' a\n+b'],
    ['1\n2\n3\n4\n5\nx', '1\n2\n3\n4\n5\ny', ' 3\n 4\n 5\n-x\n+y'],
    ['a\nb\nc\nd', 'b\nX\nd', '-a\n b\n-c\n+X\n d'],
  ])('of %j and %j', (before, after, diff) => expect(diffLines(before, after)).toBe(diff))

  it('replaces texts as a whole that are too large to compare', () => {
    const lines = (sign: string) => Array.from({ length: 2_500 }, (_, at) => `${sign}${at}`).join('\n')
    expect(diffLines(lines('a'), lines('b')).split('\n')).toHaveLength(5_000)
  })

  it.each([
    [{ a: 1 }, { a: 1 }, undefined],
    [{ a: 1, b: 2 }, { a: 3 }, { a: 3, b: null }],
    [{ a: { b: 1, c: [1] } }, { a: { b: 1, c: [2] } }, { a: { c: [2] } }],
    [{}, { a: { b: 1 } }, { a: { b: 1 } }],
  ])('of %j and %j is a merge patch', (before, after, patch) => expect(patchBetween(before, after)).toEqual(patch))
})

describe('the steps of a run', () => {
  const event = (type: string, fields: object = {}) =>
    ({ type, seq: 1, at: '2026-01-01T00:00:00Z', run_id: 'r', session_id: 's', ...fields }) as unknown as SessionEvent
  it('have their calls with times and what happened in them', () => {
    const events = [
      event('run.started'),
      event('message.delta', { step: 1, delta: 'x' }),
      event('tool.started', { step: 1, call_id: 'c', tool: 'terminal', input: {} }),
      event('approval.request', { tool: 'terminal' }),
      event('tool.completed', { step: 1, call_id: 'c', tool: 'terminal', failed: true, duration_ms: 12 }),
      event('provider.fallback', { from: 'a', to: 'b', reason: 'rate' }),
      event('message.delta', { step: 2, delta: 'y' }),
    ]
    const steps = events.reduce(addToSteps, [] as readonly RunStep[])
    expect(steps.map(({ step }) => step)).toEqual([0, 1, 2])
    expect(steps[1]?.calls).toEqual([
      { id: 'c', tool: 'terminal', at: '2026-01-01T00:00:00Z', durationMs: 12, failed: true },
    ])
    const at = '2026-01-01T00:00:00Z'
    expect(steps[1]?.happened).toEqual([
      { at, word: 'askedToAllow', tool: 'terminal' },
      { at, word: 'fellBack', from: 'a', to: 'b', reason: 'rate' },
    ])
    expect(listSteps(steps)).toEqual(steps.slice(1))
  })

  it('are those in which something is to be seen, with what came before the first', () => {
    const compressed = event('context.compressed')
    const steps = [event('run.started'), compressed, event('status', { step: 22 }), event('status', { step: 24 })]
      .concat(event('message.delta', { step: 26, delta: 'x' }))
      .reduce(addToSteps, [] as readonly RunStep[])
    expect(listSteps(steps).map(({ step, happened }) => [step, happened.length])).toEqual([
      [22, 1],
      [26, 0],
    ])
    expect(listSteps([event('run.started')].reduce(addToSteps, [] as readonly RunStep[]))).toEqual([])
  })
})

describe('a message that was not accepted', () => {
  it.each([0, 401, 408, 425, 429, 500, 502, 503])('waits after %d', (status) =>
    expect(isDefiniteRefusal(status)).toBe(false),
  )
  it.each([400, 403, 404, 409, 413, 422])('is given back after %d', (status) =>
    expect(isDefiniteRefusal(status)).toBe(true),
  )
})

describe('the share of the cache', () => {
  it.each([
    [{ input: 100, cached_read: 900, cached_write: 0 }, 90],
    [{ input: 100, cached_read: 300, cached_write: 600 }, 30],
    [{ input: 100, cached_read: 0, cached_write: 0 }, 0],
    [{ input: 0, cached_read: 0, cached_write: 0 }, 0],
  ])('of %j is %d percent', (tokens, share) => expect(cacheShareOf(tokens)).toBe(share))
})

describe('the hint for a schedule', () => {
  it.each(scheduleExamples)('has %j, which is accepted', (text) =>
    expect(parseSchedule(text, { now: 0, zone: 'UTC' })).toMatchObject({ ok: true }),
  )
})

describe('the bars of usage', () => {
  const day = (key: string, cost: number, input = 0) => ({ key, cost_usd: cost, input, output: 1 })
  it('has a bar for each day, also for those without a row', () => {
    expect(barsOf([day('2026-03-01', 2), day('2026-02-27', 1)], '2026-02-26', '2026-03-01')).toEqual([
      { day: '2026-02-26', value: 0, unit: 'usd' },
      { day: '2026-02-27', value: 1, unit: 'usd' },
      { day: '2026-02-28', value: 0, unit: 'usd' },
      { day: '2026-03-01', value: 2, unit: 'usd' },
    ])
  })

  it('counts tokens when nothing has a price', () => {
    expect(barsOf([day('2026-03-01', 0, 9)], '2026-03-01', '2026-03-01')).toEqual([
      { day: '2026-03-01', value: 10, unit: 'tokens' },
    ])
  })

  it('is empty when nothing was used', () => expect(barsOf([], '2026-02-26', '2026-03-01')).toEqual([]))
})
