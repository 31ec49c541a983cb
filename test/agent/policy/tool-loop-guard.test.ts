import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type AssistantMessage, type Message, textIn } from '../../../src/agent/model/message.ts'
import { defineTool } from '../../../src/tools/define-tool.ts'
import { Bench, calls, says } from '../support/scripted.ts'
import { failing, readFile } from '../support/tools.ts'

const results = (bench: Bench) =>
  bench.store.transcript().flatMap((message: Message) => (message.role === 'tool' ? [textIn(message)] : []))
const search = defineTool({
  name: 'web_search',
  toolset: 'web',
  description: 'searches',
  input: z.object({}),
  effect: 'effect',
  run: async () => ({ found: Math.random() }),
})
const strict = (bench: Bench) => {
  bench.limits = { ...bench.limits, guard: { ...bench.limits.guard, stop: true } }
  return bench
}

describe('a call that fails again and again', () => {
  it('is warned about from the second time on', async () => {
    const bench = new Bench((_t, _u, n) => (n < 3 ? calls('failing') : says('enough')), { tools: [failing] })
    await bench.run()
    expect(results(bench)).toEqual([
      'no',
      expect.stringContaining('failed 2 times'),
      expect.stringContaining('failed 3 times'),
    ])
    expect(bench.store.turn().stage).toMatchObject({ outcome: 'answered' })
  })

  it('ends the tools at the fifth time where that is configured, and there is still an answer', async () => {
    const bench = strict(
      new Bench((_t, turn) => (turn.guard.halted ? says('I stop here') : calls('failing')), { tools: [failing] }),
    )
    bench.limits = { ...bench.limits, guard: { ...bench.limits.guard, stop: true } }
    await bench.run()
    expect(bench.ran.length).toBe(5)
    expect(bench.steps.at(-1)).toMatchObject({ do: 'call-model', tools: false })
    expect(textIn(bench.store.transcript().at(-1) as Message)).toBe('I stop here')
  })
})

it('the same result twice is no progress, and is said', async () => {
  const bench = new Bench((_t, _u, n) => (n < 2 ? calls('read_file') : says('ok')), { tools: [readFile] })
  await bench.run()
  expect(results(bench)[1]).toContain('same result 2 times')
})

const allowThree = (bench: Bench) => {
  bench.limits = { ...bench.limits, guard: { ...bench.limits.guard, perTurn: { web_search: 3 } } }
  return bench
}

describe('the fourth search when three are allowed', () => {
  it('does not run and ends the tools, hard stop or not; there is still an answer', async () => {
    const bench = allowThree(
      new Bench((_t, turn) => (turn.guard.halted ? says('what I found') : calls('web_search')), { tools: [search] }),
    )
    const turn = await bench.run()
    expect(bench.ran.length).toBe(3)
    expect(results(bench)[3]).toContain('The limit of 3 calls of web_search')
    expect(turn.stage).toMatchObject({ outcome: 'out-of-budget' })
    expect(bench.steps.at(-1)).toMatchObject({ tools: false, say: expect.stringContaining('The limit of 3 calls') })
    expect(textIn(bench.store.transcript().at(-1) as Message)).toBe('what I found')
    expect(turn.notes).toMatchObject([{ did: 'stop the tools' }])
  })

  it('of one batch: three run, and what else is in it', async () => {
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
    const bench = allowThree(new Bench([batch, says('enough')], { tools: [search, readFile] }))
    await bench.run()
    expect(bench.ran.toSorted()).toEqual(['read_file', 'web_search', 'web_search', 'web_search'])
    expect(bench.steps.at(-1)).toMatchObject({ tools: false })
  })

  it('is not missed by who searches three times and answers', async () => {
    const bench = allowThree(new Bench((_t, _u, n) => (n < 3 ? calls('web_search') : says('ok')), { tools: [search] }))
    expect((await bench.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(bench.ran.length).toBe(3)
  })
})

it('warnings can be switched off', async () => {
  const bench = new Bench((_t, _u, n) => (n < 2 ? calls('failing') : says('ok')), { tools: [failing] })
  bench.limits = { ...bench.limits, guard: { ...bench.limits.guard, warn: false } }
  await bench.run()
  expect(results(bench)).toEqual(['no', 'no'])
})
