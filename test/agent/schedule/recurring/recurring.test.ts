/** Tests when a heartbeat and a loop come again, and when they end. */

import { describe, expect, it } from 'vitest'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { parseDuration, renderDuration, splitDuration } from '#agent/schedule/recurring/duration.ts'
import {
  beginTick,
  createHeartbeat,
  createLoop,
  endHeartbeatTick,
  endLoopTick,
  maxLoopTicks,
  pause,
  recurringWake,
  renderHeartbeat,
  renderLoop,
  resume,
  type TickEnd,
} from '#agent/schedule/recurring/recurring.ts'

const minute = 60_000
const start = { prompt: 'Look.', authority: systemAuthority('t', { kind: 'session', id: 's' }), now: 0 }
const end = (answer: string, more: Partial<TickEnd> = {}): TickEnd => ({ outcome: 'answered', answer, at: 0, ...more })

describe('a duration', () => {
  it.each([
    ['90s', 90_000],
    ['5m', 5 * minute],
    ['5 minutes', 5 * minute],
    ['1 hour', 60 * minute],
    ['2d', 2_880 * minute],
    ['m', undefined],
    ['5', undefined],
    ['5 fortnights', undefined],
  ])('%j is %j ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each([
    ['every 5m look around', { ms: 5 * minute, text: 'look around' }],
    ['every 2 hours  look', { ms: 120 * minute, text: 'look' }],
    ['30s look', { ms: 30_000, text: 'look' }],
    ['look every 5m', { text: 'look every 5m' }],
    ['every day look', { text: 'every day look' }],
    ['every 5m', { ms: 5 * minute, text: '' }],
  ])('of %j is split off', (words, split) => {
    expect(splitDuration(words)).toEqual(split)
  })

  it.each([
    [90_000, '90s'],
    [minute, '1m'],
    [60 * minute, '1h'],
    [1_440 * minute, '1d'],
  ])('of %d ms is shown as %j', (ms, text) => {
    expect(renderDuration(ms)).toBe(text)
  })
})

describe('a heartbeat', () => {
  const beat = createHeartbeat(start, 5 * minute)

  it('comes after its interval, and what was missed comes once', () => {
    expect(recurringWake(beat, 0)).toBe(5 * minute)
    const late = beginTick(beat, 'r', 60 * minute + beat.everyMs)
    expect([late.ticks, late.nextAt]).toEqual([1, 65 * minute])
    expect(recurringWake(late, 61 * minute)).toBe(61 * minute)
    expect(recurringWake(endHeartbeatTick(late, end('fine')), 61 * minute)).toBe(65 * minute)
  })

  it('pauses after a stop, and after three failures in a row', () => {
    expect(endHeartbeatTick(beat, end('', { outcome: 'stopped' })).state.at).toBe('paused')
    let held = beat
    for (const outcome of ['failed', 'failed', 'answered', 'failed', 'failed'] as const)
      held = endHeartbeatTick(held, end('', { outcome }))
    expect(held.state.at).toBe('active')
    held = endHeartbeatTick(held, end('', { outcome: 'failed' }))
    expect(held.state).toEqual({ at: 'paused', reason: '3 turns in a row failed.' })
    expect(recurringWake(held, 0)).toBeUndefined()
    expect(resume(held, start.authority, 1_000)).toMatchObject({ failures: 0, nextAt: 1_000 + beat.everyMs })
  })

  it('asks for silence when nothing needs attention', () => {
    expect(renderHeartbeat(beat)).toBe('[Heartbeat]\n\nLook.\n\nIf nothing needs attention, answer exactly [SILENT].')
  })
})

describe('a loop', () => {
  const loop = createLoop(start, undefined)

  it.each([
    ['Still working.', 300_000],
    ['Later.\n[NEXT 10m]', 600_000],
    ['Soon.\n[next 5s]', 60_000],
    ['Late.\n[NEXT 3h]', 900_000],
    ['[NEXT 10m]\nin the first line of two', 300_000],
  ])('paced by the model comes again after %j in %d ms', (answer, ms) => {
    expect(endLoopTick(loop, end(answer, { at: 1_000 }))).toMatchObject({ state: { at: 'active' }, nextAt: 1_000 + ms })
  })

  it('with an interval ignores what the model asks for', () => {
    expect(endLoopTick(createLoop(start, 30_000), end('[NEXT 10m]')).nextAt).toBe(30_000)
  })

  it.each([
    ['All tests pass.\n[DONE]', 'done'],
    ['[DONE]\nAll pass.', 'done'],
    ['It is [DONE] soon.', 'active'],
    ['a\n[DONE]\nb', 'active'],
  ])('after %j is %s', (answer, at) => {
    expect(endLoopTick(loop, end(answer)).state.at).toBe(at)
  })

  it(`ends after ${maxLoopTicks} times`, () => {
    let held = loop
    for (let n = 0; n < maxLoopTicks; n++) {
      expect(held.state.at).toBe('active')
      held = endLoopTick(beginTick(held, `r${n}`, 0), end('on'))
    }
    expect(held.state).toEqual({ at: 'done', reason: `It has come ${maxLoopTicks} times.` })
  })

  it('starts at once, also after a pause', () => {
    expect(recurringWake(loop, 0)).toBe(0)
    expect(resume(pause(loop, 'x'), start.authority, 7_000)).toMatchObject({ nextAt: 7_000, state: { at: 'active' } })
    expect(renderLoop(loop)).toContain('time 1 of at most 100')
  })
})
