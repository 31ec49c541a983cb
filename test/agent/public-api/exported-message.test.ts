import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Message } from '#agent/core/message.ts'
import { exportedMessageSchema, fromExportedMessage, toExportedMessage } from '#agent/public-api/exported-message.ts'

const png = { type: 'image', mediaType: 'image/png', data: 'iVBORw0K' } as const
const question: Message = { role: 'user', content: [{ type: 'text', text: 'Hello' }] }
const toolCall: Message = {
  role: 'assistant',
  content: [
    { type: 'thinking', text: 'hm' },
    { type: 'text', text: 'Let me see.' },
    { type: 'call', id: 'c1', name: 'terminal', input: { command: 'ls' } },
  ],
  stop: 'tools',
}

describe('toExportedMessage() and fromExportedMessage()', () => {
  const cases: Readonly<Record<string, Message>> = {
    'of plain text': question,
    'with an image before text': { role: 'user', content: [png, { type: 'text', text: 'what?' }] },
    'with an image by address': {
      role: 'user',
      content: [{ type: 'image', mediaType: 'image/*;url', data: 'https://x.test/a.png' }],
    },
    'with two texts': {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    'that is a summary': { role: 'user', content: [{ type: 'text', text: 'so far' }], source: 'summary' },
    'with calls': toolCall,
    'with signed thinking': {
      role: 'assistant',
      content: [
        { type: 'thinking', text: 'hm', sealed: { by: 'anthropic', data: { signature: 'x' } } },
        { type: 'text', text: 'a' },
        { type: 'thinking', text: 'more' },
        { type: 'text', text: 'b' },
      ],
      stop: 'end',
    },
    'with broken arguments': {
      role: 'assistant',
      content: [{ type: 'call', id: 'c', name: 'x', input: {}, raw: '{"a":' }],
      stop: 'length',
    },
    'that is a notice': {
      role: 'assistant',
      content: [{ type: 'text', text: 'Stopped.' }],
      stop: 'end',
      source: 'notice',
    },
    'of a failed tool': { role: 'tool', callId: 'c', name: 'x', content: [{ type: 'text', text: 'no' }], failed: true },
    'of a tool, with an image': { role: 'tool', callId: 'c', name: 'x', content: [png], failed: false },
  }

  it.each(Object.entries(cases))('restore a message %s', (_name, message) => {
    const line = JSON.parse(JSON.stringify(toExportedMessage(message))) as unknown
    expect(fromExportedMessage(exportedMessageSchema.parse(line))).toEqual(message)
  })

  it('restore a message of any content', () => {
    const text = fc.record({ type: fc.constant('text' as const), text: fc.string() })
    const thinking = fc.record({ type: fc.constant('thinking' as const), text: fc.string() })
    const call = fc.record({
      type: fc.constant('call' as const),
      id: fc.string({ minLength: 1, maxLength: 20 }),
      name: fc.string({ minLength: 1, maxLength: 20 }),
      input: fc.dictionary(fc.string(), fc.jsonValue()),
    })
    const userContent = fc.array(fc.oneof(text, fc.constant(png)))
    const message = fc.oneof(
      fc.record({ role: fc.constant('user' as const), content: userContent }),
      fc.record({
        role: fc.constant('assistant' as const),
        content: fc.array(fc.oneof(text, thinking, call)),
        stop: fc.constantFrom('end' as const, 'tools' as const, 'length' as const),
      }),
    )
    fc.assert(
      fc.property(message, (one) => {
        const plain = JSON.parse(JSON.stringify(one)) as Message
        const line = JSON.parse(JSON.stringify(toExportedMessage(one))) as unknown
        expect(JSON.parse(JSON.stringify(fromExportedMessage(exportedMessageSchema.parse(line))))).toEqual(plain)
      }),
    )
  })

  it('use the fields of chat completions and omit parts when these suffice', () => {
    expect(toExportedMessage(toolCall)).toEqual({
      role: 'assistant',
      content: 'Let me see.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'terminal', arguments: '{"command":"ls"}' } }],
      reasoning: 'hm',
      stop: 'tools',
    })
  })

  it.each([
    ['a storage address as data', { role: 'user', parts: [{ ...png, data: 'blob:t/other/s/x/attachments/y' }] }],
    ['a storage address as URL', { role: 'user', parts: [{ ...png, mediaType: 'image/png;url', data: 'blob:t/x' }] }],
    ['another role', { role: 'system', content: 'x' }],
    ['an unknown part', { role: 'user', parts: [{ type: 'video', data: '' }] }],
  ])('refuse a message with %s', (_name, given) => {
    expect(exportedMessageSchema.safeParse(given).success).toBe(false)
  })

  it.each(['blob:t/other/s/x/attachments/y', 'http://x.test/a.png', 'data:text/html;base64,AAAA', 'file:///etc'])(
    'replace the image at %s by a placeholder',
    (url) => {
      const message = fromExportedMessage({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] })
      expect(message.content).toEqual([{ type: 'text', text: '[image not included in the export]' }])
    },
  )
})
