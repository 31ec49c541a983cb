import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '#agent/core/dialect.ts'
import { callsIn, type Message, textIn, userText } from '#agent/core/message.ts'
import { createReply, demo } from '#agent/providers/demo/demo.ts'

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
  ])('replies to %j with a call of %s', (text, name, input) => {
    expect(callsIn(createReply(request([userText(text)])))).toEqual([{ type: 'call', id: 'demo_1', name, input }])
  })

  it('repeats any other text and describes itself', () => {
    const text = textIn(createReply(request([userText('good morning')])))
    expect(text).toMatch(/^You said: good morning\n\n/)
    expect(text).toContain('not a language model')
  })

  it('lists only phrases whose tool is available', () => {
    const help = (some: readonly string[]) =>
      textIn(createReply(request([], { tools: tools.filter(({ name }) => some.includes(name)) })))
    expect(help(['clarify', 'terminal'])).toContain('I understand: run: CMD · ask: QUESTION. After ask: I wait, and')
    expect(help(['terminal'])).toContain('I understand: run: CMD. Set')
    expect(help([])).not.toContain('I understand')
    expect(help(names)).toContain('every 30m: PROMPT · delegate: GOAL')
  })

  it('reports the result of a tool', () => {
    const reply = createReply(request([userText('read a.txt')]))
    const result: Message = {
      role: 'tool',
      callId: 'demo_1',
      name: 'read_file',
      content: [{ type: 'text', text: 'alpha' }],
      failed: false,
    }
    expect(textIn(createReply(request([userText('read a.txt'), reply, result])))).toBe('read_file returned:\nalpha')
  })

  it('reports that a tool is not available', () => {
    expect(textIn(createReply(request([userText('run: ls')], { tools: [] })))).toContain(
      'terminal, which is not available',
    )
  })

  it('streams word by word until it is aborted', async () => {
    const deltas: string[] = []
    const controller = new AbortController()
    const options = {
      signal: controller.signal,
      onDelta: ({ text }: { text: string }) => {
        deltas.push(text)
        if (deltas.length === 2) controller.abort()
      },
      onActivity: () => {},
      sleep: () => Promise.resolve(),
    }
    const endpoint = { id: '', baseUrl: '', key: '', headers: {} }
    await expect(demo.call(request([userText('one two three')]), endpoint, options)).rejects.toThrow(/abort/i)
    expect(deltas).toEqual(['You ', 'said: '])
  })
})
