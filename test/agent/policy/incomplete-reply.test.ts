import { describe, expect, it } from 'vitest'
import { type AssistantMessage, type Message, textIn } from '#agent/core/message.ts'
import { LoopHarness, calls, fails, says } from '../support/scripted.ts'
import { readFile, writeFile } from '../support/tools.ts'

const roles = (harness: LoopHarness) => harness.store.transcript().map(({ role }) => role)
const last = (harness: LoopHarness) => textIn(harness.store.transcript().at(-1) as Message)
const cut = (text: string): AssistantMessage => ({ ...says(text), stop: 'length' })
const thinks = (stop: AssistantMessage['stop'] = 'end'): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'thinking', text: 'hm' }],
  stop,
})
const saysIn = (harness: LoopHarness) =>
  harness.steps.flatMap((step) =>
    step.do === 'call-model' && step.instruction !== undefined ? [step.instruction] : [],
  )

describe('an answer that was cut off', () => {
  it('is continued and becomes one message', async () => {
    const harness = new LoopHarness([cut('Part 1 '), says('Part 2')])
    await harness.run()
    expect(last(harness)).toBe('Part 1 Part 2')
    expect(roles(harness)).toEqual(['user', 'assistant'])
    expect(saysIn(harness)).toEqual([expect.stringContaining('cut off')])
  })

  it('ends after four parts with all of its text and no instruction', async () => {
    const harness = new LoopHarness((_t, _u, n) => cut(`${n} `))
    expect((await harness.run()).stage).toMatchObject({ at: 'done', outcome: 'partial' })
    expect(harness.modelCalls).toBe(4)
    expect(last(harness)).toBe('0 1 2 3 ')
    expect(roles(harness)).toEqual(['user', 'assistant'])
  })

  it('inside a tool call runs nothing: the request is repeated with a higher output limit, four times at most', async () => {
    const harness = new LoopHarness(() => ({ ...calls('write_file'), stop: 'length' }), { tools: [writeFile] })
    const turn = await harness.run()
    expect(turn.stage).toMatchObject({ outcome: 'partial' })
    expect(turn.repairs.maxTokens).toBe(32_768)
    expect(harness.ran).toEqual([])
    expect(harness.modelCalls).toBe(4)
  })

  it('inside a tool call is never repeated with a lower output limit', async () => {
    const harness = new LoopHarness((_t, _u, n) => (n ? says('done') : { ...calls('write_file'), stop: 'length' }))
    harness.outputTokens = 12_000
    expect((await harness.run()).repairs.maxTokens).toBe(24_000)
    const large = new LoopHarness((_t, _u, n) => (n ? says('done') : { ...calls('write_file'), stop: 'length' }))
    large.outputTokens = 64_000
    expect((await large.run()).repairs.maxTokens).toBe(64_000)
  })

  it('in its thinking ends the turn', async () => {
    const harness = new LoopHarness([thinks('length')])
    await harness.run()
    expect(harness.modelCalls).toBe(1)
    expect(last(harness)).toContain('output on thinking')
  })

  it('by a broken stream continues from its text', async () => {
    const harness = new LoopHarness([{ ...fails('network'), partial: 'The first half ' }, says('and the second.')])
    await harness.run()
    expect(last(harness)).toBe('The first half and the second.')
    expect(harness.store.events).not.toContain('turn.restarted')
  })

  it('by a stream that broke inside a tool call is discarded', async () => {
    const harness = new LoopHarness([{ ...fails('network'), partial: 'I write ', inCall: true }, says('done')], {
      tools: [writeFile],
    })
    await harness.run()
    expect(harness.ran).toEqual([])
    expect(last(harness)).toBe('done')
    expect(harness.store.events).toContain('turn.restarted')
  })

  it('keeps its text when all later calls fail', async () => {
    const harness = new LoopHarness((_t, _u, n) => (n ? fails('invalid') : cut('The beginning')))
    await harness.run()
    expect(last(harness)).toMatch(/^The beginning[\s\S]*rejected the request/)
  })
})

describe('an answer without text', () => {
  it('that is only thinking is requested again, twice, without compression', async () => {
    const harness = new LoopHarness([thinks(), thinks(), says('there')])
    const turn = await harness.run()
    expect(last(harness)).toBe('there')
    expect(harness.steps.every((step) => step.do !== 'compress')).toBe(true)
    expect(turn.notes.map(({ did }) => did)).toEqual(['thought only', 'thought only'])
    expect(saysIn(harness)).toEqual(Array.from({ length: 2 }, () => expect.stringContaining('You thought')))
  })

  it('that is empty without output twice is not retried', async () => {
    const silent = new LoopHarness(() => says(''))
    silent.outputTokens = 0
    expect((await silent.run()).stage).toMatchObject({ outcome: 'failed', failure: { kind: 'malformed' } })
    expect(silent.modelCalls).toBe(2)
    expect(last(silent)).toContain('could not be used')
  })

  it('that is empty is retried three times with growing pauses, and then explained', async () => {
    const harness = new LoopHarness(() => says(''))
    const turn = await harness.run()
    expect(harness.modelCalls).toBe(4)
    expect(harness.now).toBe(1_000 + 5_000 + 10_000 + 20_000)
    expect(turn.stage).toMatchObject({ outcome: 'failed', failure: { kind: 'malformed' } })
    expect(saysIn(harness)).toEqual(Array.from({ length: 3 }, () => expect.stringContaining('was empty')))
    expect(roles(harness)).toEqual(['user', 'assistant'])
  })

  it('has all attempts again at every step of a long turn', async () => {
    const harness = new LoopHarness(
      (_t, _u, n) => (n < 24 ? (n % 4 === 3 ? calls('read_file') : says('')) : says('done')),
      {
        tools: [readFile],
      },
    )
    expect((await harness.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(harness.ran.length).toBe(6)
    expect(last(harness)).toBe('done')
  })

  it('falls back to the next model before it gives up', async () => {
    const harness = new LoopHarness((_t, turn) => says(turn.route.model ? 'from the other' : ''))
    harness.chain = [1, 1]
    await harness.run()
    expect(last(harness)).toBe('from the other')
  })

  it('after housekeeping tools becomes the text beside their calls', async () => {
    const beside = { ...calls('todo'), content: [...says('All done.').content, ...calls('todo').content] }
    const todo = { ...readFile, name: 'todo' }
    const harness = new LoopHarness([beside, says('')], { tools: [todo] })
    expect((await harness.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(last(harness)).toBe('All done.')
  })

  it('that announces calls without any is requested again', async () => {
    const harness = new LoopHarness([{ ...says('Reading'), stop: 'tools' }, says('done')], { tools: [readFile] })
    await harness.run()
    expect(saysIn(harness)).toEqual([expect.stringContaining('no calls')])
    expect(roles(harness)).toEqual(['user', 'assistant'])
  })
})

describe('an announcement', () => {
  it.each(["I'll look at the file now.", 'Okay, let me check the logs:', 'Great. I will run the tests now...'])(
    '%s is taken at its word',
    async (text) => {
      const harness = new LoopHarness([says(text), calls('read_file'), says('here it is')], { tools: [readFile] })
      await harness.run()
      expect(harness.ran).toEqual(['read_file'])
      expect(roles(harness)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    },
  )

  it.each([
    'The answer is 4.',
    'Shall I look at the file?',
    'I will do that once you tell me which file.',
    'Let me know if you need more.',
  ])('%s is an answer', async (text) => {
    const harness = new LoopHarness([says(text)], { tools: [readFile] })
    await harness.run()
    expect(harness.modelCalls).toBe(1)
  })

  it('that is never followed by a call is accepted in the end', async () => {
    const harness = new LoopHarness(() => says("I'll look at the file now."), { tools: [readFile] })
    expect((await harness.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(harness.modelCalls).toBe(3)
  })
})

describe('calls', () => {
  it('of unknown tools end the turn after three replies in a row', async () => {
    const harness = new LoopHarness(() => calls('launch_rocket'), { tools: [readFile] })
    expect((await harness.run()).stage).toMatchObject({ outcome: 'partial' })
    expect(harness.modelCalls).toBe(3)
    expect(last(harness)).toContain('launch_rocket')
  })

  it('with a misspelled name run', async () => {
    const harness = new LoopHarness([calls('Read-File'), says('ok')], { tools: [readFile] })
    await harness.run()
    expect(harness.ran).toEqual(['read_file'])
  })

  it('that appear twice in a batch run once', async () => {
    const twice = calls('read_file', 'read_file')
    const harness = new LoopHarness([twice, says('ok')], { tools: [readFile] })
    await harness.run()
    expect(harness.ran).toEqual(['read_file'])
    expect(roles(harness)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })
})
