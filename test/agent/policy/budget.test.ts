import { describe, expect, it } from 'vitest'
import { textIn, userText } from '../../../src/agent/model/message.ts'
import { defineTool } from '../../../src/tools/define-tool.ts'
import * as z from 'zod'
import { Bench, calls, fails, says } from '../support/scripted.ts'
import { readFile } from '../support/tools.ts'

const executeCode = defineTool({
  name: 'execute_code',
  toolset: 'code',
  description: 'runs',
  input: z.looseObject({}),
  effect: 'effect',
  run: async () => ({ output: '1' }),
})

describe('a step is paid for', () => {
  const spent = async (bench: Bench) => (await bench.run()).budget.spent

  it('by every reply', async () => {
    const bench = new Bench([calls('read_file'), calls('read_file'), says('ok')], { tools: [readFile] })
    expect(await spent(bench)).toBe(3)
  })

  it('not by one that only ran code', async () => {
    const tools = [readFile, executeCode]
    expect(await spent(new Bench([calls('execute_code'), calls('execute_code'), says('ok')], { tools }))).toBe(1)
    expect(await spent(new Bench([calls('execute_code', 'read_file'), says('ok')], { tools }))).toBe(2)
  })

  it('not by calls that failed, by the request that another model gets, or by a summary', async () => {
    const bench = new Bench([fails('server'), fails('missing-model'), fails('too-long'), says('ok')])
    bench.chain = [1, 1]
    expect(await spent(bench)).toBe(1)
    expect(bench.modelCalls).toBe(4)
  })

  it('not by an answer that was cancelled for something newer', async () => {
    const bench = new Bench((_t, _u, nth) => {
      if (nth > 0) return says('the other')
      bench.store.say(userText('no, the other'), 'redirect')
      return { kind: 'aborted', message: '' }
    })
    expect(await spent(bench)).toBe(1)
  })

  it('by code too, when there has been five hundred times nothing else', async () => {
    const bench = new Bench((_t, turn) => (turn.budget.spent < 2 ? calls('execute_code') : says('what I have')), {
      tools: [executeCode],
      limit: 2,
    })
    expect((await bench.run()).stage).toMatchObject({ outcome: 'out-of-budget' })
    expect(bench.ran.length).toBe(502)
  })

  it('so a turn that only runs code is not wound up by its steps', async () => {
    const bench = new Bench((_t, _u, nth) => (nth < 20 ? calls('execute_code') : says('done')), {
      tools: [executeCode],
      limit: 2,
    })
    expect((await bench.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(textIn(bench.store.transcript().at(-1) ?? userText(''))).toBe('done')
  })
})

it('nothing is said about the steps before they are used up, and then it is said', async () => {
  const bench = new Bench((_t, turn) => (turn.budget.spent < 9 ? calls('read_file') : says('what I have')), {
    tools: [readFile],
    limit: 9,
  })
  await bench.run()
  const asked = bench.steps.flatMap((step) => (step.do === 'call-model' ? [step] : []))
  expect(asked.slice(0, -1)).toEqual(Array.from({ length: 9 }, () => ({ do: 'call-model', tools: true })))
  expect(asked.at(-1)).toEqual({ do: 'call-model', tools: false, say: expect.stringContaining('used up') })
  const told = bench.store.transcript().filter(({ role }) => role === 'tool')
  expect(JSON.stringify(told)).not.toMatch(/steps|budget/)
})
