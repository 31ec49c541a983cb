import { describe, expect, it } from 'vitest'
import { toFailure } from '../support/conformance.ts'
import { sseResponse } from '../support/exchange.ts'
import { nativeStream, readRecorded } from '../support/workers-ai-calls.ts'

describe('a native stream', () => {
  it('has text deltas and final usage', async () => {
    const usage = { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 }
    const reply = await readRecorded(
      nativeStream({ response: 'Hel', p: 'ab' }, { response: 'lo' }, { response: '', usage }),
    )
    expect(reply.message).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Hello' }], stop: 'end' })
    expect(reply.deltas).toEqual(['Hel', 'lo'])
    expect(reply.usage).toMatchObject({ input: 20, output: 2 })
  })

  it('has complete calls that get unique ids', async () => {
    const { message } = await readRecorded(
      nativeStream(
        { response: '', tool_calls: [{ name: 'look', arguments: { at: 'a' } }] },
        {
          tool_calls: [
            { name: 'find', arguments: '{"n":1}' },
            { id: 'x', type: 'function', function: { name: 'look', arguments: '{}' } },
          ],
        },
      ),
    )
    expect(message).toEqual({
      role: 'assistant',
      content: [
        { type: 'call', id: 'call_1', name: 'look', input: { at: 'a' } },
        { type: 'call', id: 'call_2', name: 'find', input: { n: 1 } },
        { type: 'call', id: 'x', name: 'look', input: {} },
      ],
      stop: 'tools',
    })
  })

  it.each([
    ['a number', 42, '42'],
    ['an object', { a: 1 }, '{"a":1}'],
  ])('converts %s to text', async (_name, response, text) => {
    expect((await readRecorded(nativeStream({ response }))).message.content).toEqual([{ type: 'text', text }])
  })

  it('is truncated when it uses all output tokens', async () => {
    const usage = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 }
    const { message } = await readRecorded(nativeStream({ response: 'half a', usage }), { request: { maxTokens: 9 } })
    expect(message.stop).toBe('length')
  })

  it('fails as broken without an end', async () => {
    const error = await readRecorded(sseResponse({ response: 'Hel' })).catch((caught: unknown) => caught)
    expect(toFailure(error).kind).toBe('network')
  })

  it.each<readonly [string, object]>([
    ['in the native format', { response: 'Hello', usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } }],
    ['in the format of chat completions', { choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] }],
  ])('can be a single object %s', async (_name, object) => {
    const { message } = await readRecorded({ object })
    expect(message).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Hello' }], stop: 'end' })
  })
})
