import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type AssistantMessage, type Message, textIn } from '#agent/core/message.ts'
import { defineTool } from '#tools/define-tool.ts'
import { LoopHarness, calls, says } from '../support/scripted.ts'
import { failing, readFile } from '../support/tools.ts'

const results = (harness: LoopHarness) =>
  harness.store.transcript().flatMap((message: Message) => (message.role === 'tool' ? [textIn(message)] : []))
const search = defineTool({
  name: 'web_search',
  toolset: 'web',
  description: 'searches',
  input: z.object({}),
  effect: 'effect',
  run: async () => ({ found: Math.random() }),
})
const strict = (harness: LoopHarness) => {
  harness.limits = { ...harness.limits, guard: { ...harness.limits.guard, stop: true } }
  return harness
}

describe('a call that fails again and again', () => {
  it('gets a warning from the second time on', async () => {
    const harness = new LoopHarness((_t, _u, n) => (n < 3 ? calls('failing') : says('enough')), { tools: [failing] })
    await harness.run()
    expect(results(harness)).toEqual([
      'no',
      expect.stringContaining('failed 2 times'),
      expect.stringContaining('failed 3 times'),
    ])
    expect(harness.store.turn().stage).toMatchObject({ outcome: 'answered' })
  })

  it('switches the tools off at the fifth time where configured, and there is still an answer', async () => {
    const harness = strict(
      new LoopHarness((_t, turn) => (turn.guard.halted ? says('I stop here') : calls('failing')), { tools: [failing] }),
    )
    harness.limits = { ...harness.limits, guard: { ...harness.limits.guard, stop: true } }
    await harness.run()
    expect(harness.ran.length).toBe(5)
    expect(harness.steps.at(-1)).toMatchObject({ do: 'call-model', tools: false })
    expect(textIn(harness.store.transcript().at(-1) as Message)).toBe('I stop here')
  })
})

it('warns when the same result returns twice', async () => {
  const harness = new LoopHarness((_t, _u, n) => (n < 2 ? calls('read_file') : says('ok')), { tools: [readFile] })
  await harness.run()
  expect(results(harness)[1]).toContain('same result 2 times')
})

const allowThree = (harness: LoopHarness) => {
  harness.limits = { ...harness.limits, guard: { ...harness.limits.guard, perTurn: { web_search: 3 } } }
  return harness
}

describe('the fourth search when three are allowed', () => {
  it('does not run, and when nothing else is asked for, the tools are switched off; there is still an answer', async () => {
    const harness = allowThree(
      new LoopHarness((_t, turn) => (turn.guard.halted ? says('what I found') : calls('web_search')), {
        tools: [search],
      }),
    )
    const turn = await harness.run()
    expect(harness.ran.length).toBe(3)
    expect(results(harness)[3]).toContain('The limit of 3 calls of web_search')
    expect(turn.stage).toMatchObject({ outcome: 'out-of-budget' })
    expect(harness.steps.at(-1)).toMatchObject({
      tools: false,
      instruction: expect.stringContaining('The limit of 3 calls'),
    })
    expect(textIn(harness.store.transcript().at(-1) as Message)).toBe('what I found')
    expect(turn.notes).toMatchObject([{ did: 'stop the tools' }])
  })

  it('in one batch does not run, but the other calls do', async () => {
    const four = ['a', 'b', 'c', 'd'].map((q, i) => ({
      type: 'call' as const,
      id: `${i}`,
      name: 'web_search',
      input: { q },
    }))
    const batch: AssistantMessage = {
      role: 'assistant',
      content: [...four, ...calls('read_file').content],
      stop: 'tools',
    }
    const harness = allowThree(new LoopHarness([batch, says('enough')], { tools: [search, readFile] }))
    await harness.run()
    expect(harness.ran.toSorted()).toEqual(['read_file', 'web_search', 'web_search', 'web_search'])
    expect(harness.steps.at(-1)).toMatchObject({ tools: true })
  })

  it('leaves the other tools to the turn', async () => {
    const asked = ['web_search', 'web_search', 'web_search', 'web_search', 'web_search', 'read_file']
    const harness = allowThree(
      new LoopHarness((_t, _u, n) => (asked[n] ? calls(asked[n]) : says('done')), { tools: [search, readFile] }),
    )
    expect((await harness.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(harness.ran).toEqual(['web_search', 'web_search', 'web_search', 'read_file'])
  })

  it('is not needed for an answer after three searches', async () => {
    const harness = allowThree(
      new LoopHarness((_t, _u, n) => (n < 3 ? calls('web_search') : says('ok')), { tools: [search] }),
    )
    expect((await harness.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(harness.ran.length).toBe(3)
  })
})

it('warnings can be switched off', async () => {
  const harness = new LoopHarness((_t, _u, n) => (n < 2 ? calls('failing') : says('ok')), { tools: [failing] })
  harness.limits = { ...harness.limits, guard: { ...harness.limits.guard, warn: false } }
  await harness.run()
  expect(results(harness)).toEqual(['no', 'no'])
})
