import { expect, it } from 'vitest'
import { noUsage } from '#agent/core/usage.ts'
import { maxCharsOfSummary, renderResults, renderSpilled } from '#agent/policy/subagent/result.ts'

it.each([
  [1_000_000, 1, 24_000],
  [10_000, 1, 20_000],
  [10_000, 2, 10_000],
  [10_000, 16, 2_000],
  [-5, 1, 2_000],
])('with %i tokens left, each of %i summaries has %i characters', (tokens, subagents, chars) => {
  expect(maxCharsOfSummary(tokens, subagents)).toBe(chars)
})

it('names the file of a long summary', () => {
  expect(renderSpilled('abcdef', 2, '/tmp/x')).toBe('ab\n[… 4 more characters; the whole summary is in /tmp/x …]')
})

it('sorts the entries by their tasks', () => {
  const report = {
    status: 'completed',
    output: '',
    exitReason: 'answered',
    model: null,
    apiCalls: 1,
    usage: noUsage,
    durationMs: 1_260,
    toolTrace: [],
    missedSteers: ['too late'],
  } as const
  const ended = [1, 0].map((index) => ({
    index,
    id: `s${index}`,
    task: { goal: 'g', role: 'leaf' as const },
    report,
    summary: 's',
  }))
  const { results, total_duration_seconds: seconds } = renderResults(ended, 3_440)
  expect(results.map(({ task_index: n }) => n)).toEqual([0, 1])
  expect(results[0]).toMatchObject({ duration_seconds: 1.3, missed_steer: 'too late' })
  expect(seconds).toBe(3.4)
})
