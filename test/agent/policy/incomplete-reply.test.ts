import { describe, expect, it } from 'vitest'
import { type AssistantMessage, type Message, textIn } from '../../../src/agent/model/message.ts'
import { Bench, calls, fails, says } from '../support/scripted.ts'
import { readFile, writeFile } from '../support/tools.ts'

const roles = (bench: Bench) => bench.store.transcript().map(({ role }) => role)
const last = (bench: Bench) => textIn(bench.store.transcript().at(-1) as Message)
const cut = (text: string): AssistantMessage => ({ ...says(text), stop: 'length' })
const thinks = (stop: AssistantMessage['stop'] = 'end'): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'thinking', text: 'hm' }],
  stop,
})
const saysIn = (bench: Bench) =>
  bench.steps.flatMap((step) => (step.do === 'call-model' && step.say !== undefined ? [step.say] : []))

describe('an answer that was cut off', () => {
  it('is continued and becomes one message', async () => {
    const bench = new Bench([cut('Part 1 '), says('Part 2')])
    await bench.run()
    expect(last(bench)).toBe('Part 1 Part 2')
    expect(roles(bench)).toEqual(['user', 'assistant'])
    expect(saysIn(bench)).toEqual([expect.stringContaining('cut off')])
  })

  it('ends after four parts with all of its text and nothing of the asking', async () => {
    const bench = new Bench((_t, _u, n) => cut(`${n} `))
    expect((await bench.run()).stage).toMatchObject({ at: 'done', outcome: 'partial' })
    expect(bench.modelCalls).toBe(4)
    expect(last(bench)).toBe('0 1 2 3 ')
    expect(roles(bench)).toEqual(['user', 'assistant'])
  })

  it('inside a tool call runs nothing: the request is made again with more room, four times at most', async () => {
    const bench = new Bench(() => ({ ...calls('write_file'), stop: 'length' }), { tools: [writeFile] })
    const turn = await bench.run()
    expect(turn.stage).toMatchObject({ outcome: 'partial' })
    expect(turn.repairs.maxTokens).toBe(32_768)
    expect(bench.ran).toEqual([])
    expect(bench.modelCalls).toBe(4)
  })

  it('inside a tool call is never asked for with less room than it had', async () => {
    const bench = new Bench((_t, _u, n) => (n ? says('done') : { ...calls('write_file'), stop: 'length' }))
    bench.outputTokens = 12_000
    expect((await bench.run()).repairs.maxTokens).toBe(24_000)
    const large = new Bench((_t, _u, n) => (n ? says('done') : { ...calls('write_file'), stop: 'length' }))
    large.outputTokens = 64_000
    expect((await large.run()).repairs.maxTokens).toBe(64_000)
  })

  it('in its thinking is not asked for again', async () => {
    const bench = new Bench([thinks('length')])
    await bench.run()
    expect(bench.modelCalls).toBe(1)
    expect(last(bench)).toContain('output on thinking')
  })

  it('by a broken stream goes on from its text', async () => {
    const bench = new Bench([{ ...fails('network'), partial: 'The first half ' }, says('and the second.')])
    await bench.run()
    expect(last(bench)).toBe('The first half and the second.')
    expect(bench.store.heard).not.toContain('turn.restarted')
  })

  it('by a stream that broke inside a tool call is discarded', async () => {
    const bench = new Bench([{ ...fails('network'), partial: 'I write ', inCall: true }, says('done')], {
      tools: [writeFile],
    })
    await bench.run()
    expect(bench.ran).toEqual([])
    expect(last(bench)).toBe('done')
    expect(bench.store.heard).toContain('turn.restarted')
  })

  it('keeps its text when everything fails afterwards', async () => {
    const bench = new Bench((_t, _u, n) => (n ? fails('invalid') : cut('The beginning')))
    await bench.run()
    expect(last(bench)).toMatch(/^The beginning[\s\S]*rejected the request/)
  })
})

describe('an answer without words', () => {
  it('that is only thought is asked for, twice, without compressing', async () => {
    const bench = new Bench([thinks(), thinks(), says('there')])
    const turn = await bench.run()
    expect(last(bench)).toBe('there')
    expect(bench.steps.every((step) => step.do !== 'compress')).toBe(true)
    expect(turn.notes.map(({ did }) => did)).toEqual(['thought only', 'thought only'])
    expect(saysIn(bench)).toEqual(Array.from({ length: 2 }, () => expect.stringContaining('You thought')))
  })

  it('that is empty and cost nothing twice is not going to change', async () => {
    const silent = new Bench(() => says(''))
    silent.outputTokens = 0
    expect((await silent.run()).stage).toMatchObject({ outcome: 'failed', failure: { kind: 'malformed' } })
    expect(silent.modelCalls).toBe(2)
    expect(last(silent)).toContain('could not be used')
  })

  it('that is empty is asked for three times more, with growing pauses, and then it is said', async () => {
    const bench = new Bench(() => says(''))
    const turn = await bench.run()
    expect(bench.modelCalls).toBe(4)
    expect(bench.now).toBe(1_000 + 5_000 + 10_000 + 20_000)
    expect(turn.stage).toMatchObject({ outcome: 'failed', failure: { kind: 'malformed' } })
    expect(saysIn(bench)).toEqual(Array.from({ length: 3 }, () => expect.stringContaining('was empty')))
    expect(roles(bench)).toEqual(['user', 'assistant'])
  })

  it('has all its tries again at every step of a long turn', async () => {
    const bench = new Bench((_t, _u, n) => (n < 24 ? (n % 4 === 3 ? calls('read_file') : says('')) : says('done')), {
      tools: [readFile],
    })
    expect((await bench.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(bench.ran.length).toBe(6)
    expect(last(bench)).toBe('done')
  })

  it('falls back to the next model before it gives up', async () => {
    const bench = new Bench((_t, turn) => says(turn.route.model ? 'from the other' : ''))
    bench.chain = [1, 1]
    await bench.run()
    expect(last(bench)).toBe('from the other')
  })

  it('after tools that only keep house is the text that stood beside them', async () => {
    const beside = { ...calls('todo'), content: [...says('All done.').content, ...calls('todo').content] }
    const todo = { ...readFile, name: 'todo' }
    const bench = new Bench([beside, says('')], { tools: [todo] })
    expect((await bench.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(last(bench)).toBe('All done.')
  })

  it('that announces calls and has none is asked for them', async () => {
    const bench = new Bench([{ ...says('Reading'), stop: 'tools' }, says('done')], { tools: [readFile] })
    await bench.run()
    expect(saysIn(bench)).toEqual([expect.stringContaining('no calls')])
    expect(roles(bench)).toEqual(['user', 'assistant'])
  })
})

describe('an announcement', () => {
  it.each(["I'll look at the file now.", 'Okay, let me check the logs:', 'Great. I will run the tests now...'])(
    '%s is taken at its word',
    async (text) => {
      const bench = new Bench([says(text), calls('read_file'), says('here it is')], { tools: [readFile] })
      await bench.run()
      expect(bench.ran).toEqual(['read_file'])
      expect(roles(bench)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    },
  )

  it.each([
    'The answer is 4.',
    'Shall I look at the file?',
    'I will do that once you tell me which file.',
    'Let me know if you need more.',
  ])('%s is an answer', async (text) => {
    const bench = new Bench([says(text)], { tools: [readFile] })
    await bench.run()
    expect(bench.modelCalls).toBe(1)
  })

  it('that is never followed by anything is accepted in the end', async () => {
    const bench = new Bench(() => says("I'll look at the file now."), { tools: [readFile] })
    expect((await bench.run()).stage).toMatchObject({ outcome: 'answered' })
    expect(bench.modelCalls).toBe(3)
  })
})

describe('calls', () => {
  it('of tools that do not exist end the turn after three times in a row', async () => {
    const bench = new Bench(() => calls('launch_rocket'), { tools: [readFile] })
    expect((await bench.run()).stage).toMatchObject({ outcome: 'partial' })
    expect(bench.modelCalls).toBe(3)
    expect(last(bench)).toContain('launch_rocket')
  })

  it('with a misspelt name run', async () => {
    const bench = new Bench([calls('Read-File'), says('ok')], { tools: [readFile] })
    await bench.run()
    expect(bench.ran).toEqual(['read_file'])
  })

  it('that are the same twice in a batch run once', async () => {
    const twice = calls('read_file', 'read_file')
    const bench = new Bench([twice, says('ok')], { tools: [readFile] })
    await bench.run()
    expect(bench.ran).toEqual(['read_file'])
    expect(roles(bench)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })
})
