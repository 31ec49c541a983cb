/** Tests that every tool call ends: at its time limit, at the limit of its batch, or when the user stops the turn. */

import * as z from 'zod'
import { describe, expect, it } from 'vitest'
import type { Effect, HistoryPort, Tool } from '#agent/core/tool.ts'
import type { Result, ToolCall } from '#agent/core/turn.ts'
import { defineTool } from '#tools/define-tool.ts'
import { type DispatchOptions, dispatch } from '#tools/dispatch.ts'
import { tools } from '#tools/index.ts'
import { createTestClock } from '../support/clock.ts'
import { ownerAuthority } from '../support/authority.ts'

const never = new Promise<never>(() => {})

type Hanging = { readonly effect?: Effect; readonly timeoutMs?: number; readonly work?: Promise<{ done: true }> }

/** A tool that returns when `work` does, and records whether its signal was aborted. */
function hangingTool(name: string, { effect = 'pure', timeoutMs, work = never }: Hanging) {
  const seen = { signal: undefined as AbortSignal | undefined }
  const tool = defineTool({
    name,
    toolset: 'test',
    description: 'Hangs.',
    input: z.object({}),
    effect,
    touches: () => 'nothing',
    ...(timeoutMs !== undefined && { timeoutMs: () => timeoutMs }),
    run: async (_, { signal }) => {
      seen.signal = signal
      return work
    },
  })
  return { tool, seen }
}

const callOf = (tool: Tool, id = tool.name): ToolCall => ({
  id,
  name: tool.name,
  input: {},
  effect: tool.effect,
  state: 'planned',
})

function start(calls: readonly ToolCall[], list: readonly Tool[], more: Partial<DispatchOptions> = {}) {
  const timers = createTestClock()
  const stop = new AbortController()
  const results: Result[] = []
  const ended = (async () => {
    for await (const result of dispatch(calls, {
      toolbox: new Map(list.map((tool) => [tool.name, tool])),
      services: {},
      context: {
        sessionId: 's',
        runId: 'r',
        authority: ownerAuthority(),
        signal: stop.signal,
        clock: { now: timers.now },
      },
      schedule: timers.schedule,
      permit: () => ({ do: 'run' }),
      spill: () => Promise.reject(new Error('no result is that long')),
      logError: () => {},
      ...more,
    }))
      results.push(result)
    return results
  })()
  return { timers, stop, results, ended }
}

const errorOf = (result: Result | undefined): string => {
  const part = result?.of === 'tool' ? result.message.content[0] : undefined
  return part?.type === 'text' ? (JSON.parse(part.text) as { error: string }).error : ''
}

describe('a call that does not end', () => {
  it.each([
    ['pure', /Try a smaller part/],
    ['keyed', /may have taken effect; the same call can be repeated/],
    ['once', /smaller part/],
    ['effect', /Outcome unknown/],
  ] as const)('(%s) is stopped at its limit, and the model learns what is known', async (effect, advice) => {
    const { tool, seen } = hangingTool('hangs', { effect, timeoutMs: 5_000 })
    const { timers, ended } = start([callOf(tool)], [tool])
    await timers.pass(5_000)
    const [result] = await ended
    expect(result).toMatchObject({ of: 'tool', message: { failed: true } })
    expect(errorOf(result)).toMatch(/^Stopped: no result after 5 seconds\. /)
    expect(errorOf(result)).toMatch(advice)
    expect(seen.signal?.aborted).toBe(true)
  })

  it('has a limit although its tool names none', async () => {
    const { tool } = hangingTool('hangs', {})
    const { timers, ended } = start([callOf(tool)], [tool])
    await timers.pass(300_000)
    expect(errorOf((await ended)[0])).toContain('300 seconds')
  })

  it('ends with its batch, and the results of the others stay', async () => {
    const slow = hangingTool('slow', { timeoutMs: 3_600_000 })
    const fast = hangingTool('fast', { work: Promise.resolve({ done: true }) })
    const { timers, ended, results } = start([callOf(slow.tool), callOf(fast.tool)], [slow.tool, fast.tool])
    await timers.pass(419_000)
    expect(results).toHaveLength(1)
    await timers.pass(1_000)
    expect((await ended).map(errorOf)).toEqual([undefined, expect.stringContaining('420 seconds')])
  })

  it('is not limited when it waits for a person', async () => {
    const { promise, resolve } = Promise.withResolvers<{ done: true }>()
    const { tool } = hangingTool('waits', { timeoutMs: Number.POSITIVE_INFINITY, work: promise })
    const { timers, ended, results } = start([callOf(tool)], [tool])
    await timers.pass(30 * 86_400_000)
    expect(results).toHaveLength(0)
    resolve({ done: true })
    expect(await ended).toMatchObject([{ message: { failed: false } }])
  })

  it('is given up when the user stops the turn and it does not react', async () => {
    const { tool } = hangingTool('hangs', { effect: 'effect' })
    const { timers, stop, ended } = start([callOf(tool)], [tool])
    stop.abort()
    await timers.pass(10_000)
    expect(errorOf((await ended)[0])).toMatch(/^Stopped by the user .* may have taken effect/)
  })
})

it('a result after the limit is discarded, and so is an error', async () => {
  const { promise, resolve, reject } = Promise.withResolvers<{ done: true }>()
  const late = hangingTool('late', { work: promise, timeoutMs: 1_000 })
  const first = start([callOf(late.tool)], [late.tool])
  await first.timers.pass(1_000)
  expect(errorOf((await first.ended)[0])).toContain('Stopped')
  resolve({ done: true })
  await promise
  expect(first.results).toHaveLength(1)
  const errors: unknown[] = []
  const broken = Promise.withResolvers<{ done: true }>()
  const failing = hangingTool('failing', { work: broken.promise, timeoutMs: 1_000 })
  const second = start([callOf(failing.tool)], [failing.tool], { logError: (error) => errors.push(error) })
  await second.timers.pass(1_000)
  await second.ended
  broken.reject(new Error('late'))
  await expect(broken.promise).rejects.toThrow('late')
  expect(errors).toEqual([])
  reject(new Error('ignored'))
})

it('no timer is left when a call has ended, so that the object can hibernate', async () => {
  const { tool } = hangingTool('fast', { work: Promise.resolve({ done: true }) })
  const { timers, ended } = start([callOf(tool)], [tool])
  await ended
  expect(timers.pending()).toBe(0)
})

it('a history that does not answer ends session_search after 30 seconds', async () => {
  const history = { recent: () => never, describe: () => never, search: () => never, read: () => never } as HistoryPort
  const tool = tools.find(({ name }) => name === 'session_search')!
  const { timers, ended } = start([callOf(tool)], [tool], { services: { history } })
  await timers.pass(30_000)
  expect(errorOf((await ended)[0])).toContain('30 seconds')
})

it.each([
  ['terminal', { command: 'x' }, 300_000],
  ['terminal', { command: 'x', timeout: 600 }, 720_000],
  ['terminal', { command: 'x', background: true, timeout: 86_400 }, 120_000],
  ['execute_code', { code: 'x' }, 420_000],
  ['process', { action: 'wait', session_id: 'p', timeout: 600 }, 720_000],
])('%s %j may take its own timeout and a margin: %d ms', (name, input, limit) => {
  expect(tools.find((tool) => tool.name === name)?.timeoutMs?.(input)).toBe(limit)
})
