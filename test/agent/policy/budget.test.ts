import { describe, expect, it } from 'vitest'
import { textIn, userText } from '#agent/core/message.ts'
import { defineTool } from '#tools/define-tool.ts'
import * as z from 'zod'
import { LoopHarness, calls, fails, says } from '../support/scripted.ts'
import { readFile } from '../support/tools.ts'

const executeCode = defineTool({
  name: 'execute_code',
  toolset: 'code',
  description: 'runs',
  input: z.looseObject({}),
  effect: 'effect',
  run: async () => ({ output: '1' }),
})

describe('a step is counted', () => {
  const spent = async (harness: LoopHarness) => (await harness.run()).budget.spent

  it('for every reply', async () => {
    const harness = new LoopHarness([calls('read_file'), calls('read_file'), says('ok')], { tools: [readFile] })
    expect(await spent(harness)).toBe(3)
  })

  it('not for a reply that only runs code', async () => {
    const tools = [readFile, executeCode]
    expect(await spent(new LoopHarness([calls('execute_code'), calls('execute_code'), says('ok')], { tools }))).toBe(1)
    expect(await spent(new LoopHarness([calls('execute_code', 'read_file'), says('ok')], { tools }))).toBe(2)
  })

  it('not for failed calls, fallbacks or summaries', async () => {
    const harness = new LoopHarness([fails('server'), fails('missing-model'), fails('too-long'), says('ok')])
    harness.chain = [1, 1]
    expect(await spent(harness)).toBe(1)
    expect(harness.modelCalls).toBe(4)
  })

  it('not for an answer that a new message cancelled', async () => {
    const harness = new LoopHarness((_t, _u, nth) => {
      if (nth > 0) return says('the other')
      harness.store.addToInbox(userText('no, the other'), 'redirect')
      return { kind: 'aborted', message: '' }
    })
    expect(await spent(harness)).toBe(1)
  })

  it('for code too, after five hundred replies that only ran code', async () => {
    const harness = new LoopHarness(
      (_t, turn) => (turn.budget.spent < 2 ? calls('execute_code') : says('what I have')),
      {
        tools: [executeCode],
        limit: 2,
      },
    )
    expect((await harness.run()).stage).toMatchObject({ outcome: 'out-of-budget' })
    expect(harness.ran.length).toBe(502)
  })

  it('so a turn that only runs code does not reach its step limit', async () => {
    const harness = new LoopHarness((_t, _u, nth) => (nth < 20 ? calls('execute_code') : says('done')), {
      tools: [executeCode],
      limit: 2,
    })
    expect((await harness.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(textIn(harness.store.transcript().at(-1) ?? userText(''))).toBe('done')
  })
})

it('tells the model about the step limit only when it is reached', async () => {
  const harness = new LoopHarness((_t, turn) => (turn.budget.spent < 9 ? calls('read_file') : says('what I have')), {
    tools: [readFile],
    limit: 9,
  })
  await harness.run()
  const asked = harness.steps.flatMap((step) => (step.do === 'call-model' ? [step] : []))
  expect(asked.slice(0, -1)).toEqual(Array.from({ length: 9 }, () => ({ do: 'call-model', tools: true })))
  expect(asked.at(-1)).toEqual({ do: 'call-model', tools: false, instruction: expect.stringContaining('used up') })
  const told = harness.store.transcript().filter(({ role }) => role === 'tool')
  expect(JSON.stringify(told)).not.toMatch(/steps|budget/)
})
