/** Small pure parts of the wire: arguments, the stand-in, the chat completion that we serve. */

import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../../../src/agent/model/dialect.ts'
import type { PlacedEvent, RunEnded } from '../../../../src/agent/model/event.ts'
import { callsIn, type Message, textIn, userText } from '../../../../src/agent/model/message.ts'
import { addUsage, noUsage, type Usage } from '../../../../src/agent/model/usage.ts'
import { readArguments } from '../../../../src/agent/providers/shared/call-arguments.ts'
import { answer, demo } from '../../../../src/agent/providers/demo/demo.ts'
import { chatChunks, chatCompletion, finishReason } from '../../../../src/agent/public-api/chat-completions.ts'
import { openaiUsage, publicUsage } from '../../../../src/agent/public-api/usage.ts'

describe('arguments of a call', () => {
  const cases: readonly (readonly [string, object])[] = [
    ['{"a":1}', { input: { a: 1 } }],
    ['', { input: {} }],
    [' \n', { input: {} }],
    ['null', { input: {} }],
    ['None', { input: {} }],
    [' {"a":1} ', { input: { a: 1 } }],
    ["{'a': 1}", { input: { a: 1 } }],
    ['{"a": 1,}', { input: { a: 1 } }],
    ['{a: "b"}', { input: { a: 'b' } }],
    ['{"a": "cut of', { input: {}, raw: '{"a": "cut of' }],
    ['{"a": [1, 2', { input: {}, raw: '{"a": [1, 2' }],
    ['[1, 2]', { input: {}, raw: '[1, 2]' }],
    ['"text"', { input: {}, raw: '"text"' }],
    ['5', { input: {}, raw: '5' }],
    ['run it', { input: {}, raw: 'run it' }],
    ['{"a": {"b": 1}', { input: {}, raw: '{"a": {"b": 1}' }],
    ['{"a": 1}}', { input: { a: 1 } }],
    [
      '{"a": True, "b": None, "c": False, "d": -1.5e3, "e": [1, 2,], "f": {}}',
      { input: { a: true, b: null, c: false, d: -1500, e: [1, 2], f: {} } },
    ],
    ['{"a": "two\nlines\tand \\" an \\u00e9 \\d"}\n', { input: { a: 'two\nlines\tand " an é d' } }],
    ['{"a": "said "yes" and left", "b": 1,}', { input: { a: 'said "yes" and left', b: 1 } }],
    ["{'it': 'isn't', \"b\": 'x'}", { input: { it: "isn't", b: 'x' } }],
    ['{“a”: “b”}', { input: { a: 'b' } }],
    ['{"a": 1 /* one */, // two\n "b": 2 "c": 3,}', { input: { a: 1, b: 2, c: 3 } }],
    ['{"a": ls -la, }', { input: { a: 'ls -la' } }],
    ['{"a": 1 /* }', { input: {}, raw: '{"a": 1 /* }' }],
    ['{"a" 1}', { input: {}, raw: '{"a" 1}' }],
    ['{"a": 1} {"a": 2}', { input: {}, raw: '{"a": 1} {"a": 2}' }],
    ['{"a": }', { input: {}, raw: '{"a": }' }],
    ['{:1}', { input: {}, raw: '{:1}' }],
    ['{"a": [1}', { input: {}, raw: '{"a": [1}' }],
  ]
  it.each(cases)('%j', (text, expected) => {
    expect(readArguments(text)).toEqual(expected)
  })

  it('with a prototype in them are plain data', () => {
    readArguments('{"__proto__":{"polluted":1}}')
    const { input } = readArguments("{'__proto__':{'polluted':1}}")
    expect(Object.keys(input as object)).toEqual(['__proto__'])
    expect(({} as { polluted?: number }).polluted).toBe(undefined)
  })

  const deep = (times: number) => `${'{"a":'.repeat(times)}1${'}'.repeat(times)}`
  it.each([deep(101), deep(100_000), deep(100_000).replace('1', "'1',")])(
    'that are nested without measure are none: what is kept is written with a stack',
    (text) => {
      expect(readArguments(text)).toEqual({ input: {}, raw: text })
    },
  )
  it('may be nested as deeply as anybody needs', () => {
    expect(readArguments(deep(90))).toEqual({ input: JSON.parse(deep(90)) })
  })

  it.each(['"b\n', "'b", '"a\n', '"x", ', '[', "{'a':", '/*', '//\n', ' ', '\\', ',', '" :', 'f(', '“', '"   '])(
    'with %j again and again are read in one pass',
    (piece) => {
      // What goes back and tries again needs hours for this.
      const text = `{'a':${piece.repeat(300_000 / piece.length)}}`
      expect(readArguments(text)).toHaveProperty('input')
    },
  )
})

describe('demo/agent', () => {
  const names = [
    'terminal',
    'write_file',
    'read_file',
    'memory',
    'session_search',
    'cronjob',
    'delegate_task',
    'clarify',
  ]
  const tools = names.map((name) => ({ name, description: '', inputSchema: {} }))
  const request = (transcript: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
    model: 'agent',
    system: '',
    transcript,
    tools,
    ...more,
  })
  it.each<readonly [string, string, object]>([
    ['run: ls -la', 'terminal', { command: 'ls -la' }],
    ['Run: echo a\necho b', 'terminal', { command: 'echo a\necho b' }],
    ['write notes/a.txt: one\ntwo', 'write_file', { path: 'notes/a.txt', content: 'one\ntwo' }],
    ['read notes/a.txt', 'read_file', { path: 'notes/a.txt' }],
    ['remember: I like tea', 'memory', { target: 'memory', action: 'add', content: 'I like tea' }],
    ['recall: tea', 'session_search', { query: 'tea' }],
    ['every 30m: look outside', 'cronjob', { action: 'create', schedule: 'every 30m', prompt: 'look outside' }],
    ['delegate: find it', 'delegate_task', { goal: 'find it' }],
    ['ask: which one?', 'clarify', { question: 'which one?' }],
  ])('answers %j with a call of %s', (text, name, input) => {
    expect(callsIn(answer(request([userText(text)])))).toEqual([{ type: 'call', id: 'demo_1', name, input }])
  })

  it('repeats everything else, and says what it is', () => {
    const text = textIn(answer(request([userText('good morning')])))
    expect(text).toMatch(/^You said: good morning\n\n/)
    expect(text).toContain('not a language model')
  })

  it('offers the phrases whose tool there is', () => {
    const help = (some: readonly string[]) =>
      textIn(answer(request([], { tools: tools.filter(({ name }) => some.includes(name)) })))
    expect(help(['clarify', 'terminal'])).toContain('I understand: run: CMD · ask: QUESTION. Set')
    expect(help([])).not.toContain('I understand')
    expect(help(names)).toContain('every 30m: PROMPT · delegate: GOAL')
  })

  it('reports what the tool returned', () => {
    const asked = answer(request([userText('read a.txt')]))
    const result: Message = {
      role: 'tool',
      callId: 'demo_1',
      name: 'read_file',
      content: [{ type: 'text', text: 'alpha' }],
      failed: false,
    }
    expect(textIn(answer(request([userText('read a.txt'), asked, result])))).toBe('read_file returned:\nalpha')
  })

  it('says so when it may not use the tool', () => {
    expect(textIn(answer(request([userText('run: ls')], { tools: [] })))).toContain('terminal, which is not available')
  })

  it('streams word by word, at its pace, until it is stopped', async () => {
    const heard: string[] = []
    const stop = new AbortController()
    const options = {
      signal: stop.signal,
      hear: ({ text }: { text: string }) => {
        heard.push(text)
        if (heard.length === 2) stop.abort()
      },
      pulse: () => {},
      sleep: () => Promise.resolve(),
    }
    const endpoint = { id: '', baseUrl: '', key: '', headers: {} }
    await expect(demo.call(request([userText('one two three')]), endpoint, options)).rejects.toThrow(/abort/i)
    expect(heard).toEqual(['You ', 'said: '])
  })
})

const used: Usage = {
  ...noUsage,
  input: 60,
  output: 10,
  cachedRead: 40,
  reasoning: 3,
  costUsd: 0.5,
  costStatus: 'actual',
}

describe('usage', () => {
  it('is as certain as its least certain part', () => {
    expect(addUsage(used, { ...used, costStatus: 'unknown' })).toEqual({
      ...used,
      input: 120,
      output: 20,
      cachedRead: 80,
      reasoning: 6,
      costUsd: 1,
      costStatus: 'unknown',
    })
  })
  it('is shown by our names and by those of OpenAI', () => {
    expect(publicUsage(used)).toEqual({
      input: 60,
      output: 10,
      cached_read: 40,
      cached_write: 0,
      reasoning: 3,
      cost_usd: 0.5,
      cost_status: 'actual',
    })
    expect(openaiUsage(used)).toEqual({
      prompt_tokens: 100,
      completion_tokens: 10,
      total_tokens: 110,
      prompt_tokens_details: { cached_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 3 },
    })
  })
})

describe('a run as a chat completion', () => {
  const head = { id: 'chatcmpl-1', created: 5, model: 'talaria' }
  const place = { seq: 1, at: '', run_id: 'r', session_id: 's' }
  const end = (more: Partial<RunEnded> = {}): RunEnded => ({
    type: 'run.completed',
    output: 'Hi.',
    usage: used,
    exit_reason: 'answered',
    completed: true,
    ...more,
  })
  const events: PlacedEvent[] = [
    { ...place, type: 'run.started', input: 'x' },
    { ...place, type: 'reasoning.delta', delta: 'hm' },
    { ...place, type: 'tool.started', call_id: 'c', tool: 'look', input: {} },
    { ...place, type: 'tool.completed', call_id: 'c', tool: 'look', failed: true, duration_ms: 1, preview: '' },
    { ...place, type: 'message.delta', delta: 'Hi.' },
    { ...place, ...end() },
  ]
  const frames = (withUsage: boolean) => events.map(chatChunks(head, withUsage)).join('').split('\n\n').filter(Boolean)
  const dataOf = (frame: string) => JSON.parse(frame.replace(/^(event: .*\n)?data: /, '')) as Record<string, unknown>

  it('is chunks: the role first, tools as events of their own, the reason last', () => {
    const chunk = (delta: object, finish: string | null = null) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 5,
      model: 'talaria',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
    const all = frames(false)
    expect(all.at(-1)).toBe('data: [DONE]')
    expect(all.slice(0, -1).map(dataOf)).toEqual([
      chunk({ role: 'assistant', reasoning_content: 'hm' }),
      { ...chunk({}), tool: 'look', call_id: 'c', status: 'running' },
      { ...chunk({}), tool: 'look', call_id: 'c', status: 'failed' },
      chunk({ content: 'Hi.' }),
      chunk({}, 'stop'),
    ])
    expect(all.filter((frame) => frame.startsWith('event: hermes.tool.progress\n'))).toHaveLength(2)
  })

  it('begins with the role when the first that happens is a tool', () => {
    const first = chatChunks(head, false)({ ...place, type: 'tool.started', tool: 'look', call_id: 'c', input: {} })
    expect(dataOf(first)['choices']).toEqual([{ index: 0, delta: { role: 'assistant' }, finish_reason: null }])
  })

  it('has usage on a last chunk when it was asked for', () => {
    expect(dataOf(frames(true).at(-2) ?? '')).toMatchObject({ choices: [], usage: { total_tokens: 110 } })
    expect(frames(false).some((frame) => frame.includes('usage'))).toBe(false)
  })

  it('is one object when it is not streamed', () => {
    expect(chatCompletion(head, end())).toEqual({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 5,
      model: 'talaria',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: openaiUsage(used),
    })
  })

  it.each<readonly [string, Partial<RunEnded>]>([
    ['stop', {}],
    ['length', { exit_reason: 'out_of_budget', completed: false }],
    ['stop', { type: 'run.cancelled', exit_reason: 'stopped', completed: false }],
    ['error', { type: 'run.failed', exit_reason: 'failed_rate', completed: false }],
    ['content_filter', { type: 'run.failed', exit_reason: 'failed_refused', completed: false }],
  ])('ends with %s for %j', (reason, more) => {
    expect(finishReason(end(more))).toBe(reason)
  })
})
