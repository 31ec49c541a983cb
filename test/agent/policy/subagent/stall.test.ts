import { describe, expect, it } from 'vitest'
import { explainStall, startWatching, watch } from '#agent/policy/subagent/stall.ts'

const progress = { marker: 1, activity: 'thinking', isInTool: false, isWaiting: false, apiCalls: 1 }
const seconds = (n: number) => n * 1_000

describe('a subagent', () => {
  it.each([
    ['is idle', {}, 569, false],
    ['is idle', {}, 570, true],
    ['runs a tool', { isInTool: true }, 1_319, false],
    ['runs a tool', { isInTool: true }, 1_320, true],
  ])('that %s with %j is stalled after %i s: %s', (_name, change, after, isStalled) => {
    const seen = watch(startWatching(0), { ...progress, ...change }, seconds(10))
    const later = watch(seen, { ...progress, ...change }, seconds(10 + after))
    expect(explainStall(later, seconds(10 + after)) !== undefined).toBe(isStalled)
  })

  it('that makes progress or waits for its own subagents is not stalled', () => {
    const seen = watch(startWatching(0), progress, 0)
    const moved = watch(seen, { ...progress, marker: 2 }, seconds(5_000))
    const waits = watch(seen, { ...progress, isWaiting: true }, seconds(5_000))
    expect(explainStall(moved, seconds(5_100))).toBeUndefined()
    expect(explainStall(waits, seconds(5_100))).toBeUndefined()
  })
})
