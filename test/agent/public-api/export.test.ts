import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Message } from '../../../src/agent/model/message.ts'
import { type ExportFormat, renderExport } from '../../../src/agent/public-api/export.ts'
import {
  type ExportedMessage,
  exportedMessageSchema,
  fromExportedMessage,
  toExportedMessage,
} from '../../../src/agent/public-api/exported-message.ts'

const session = {
  id: 'ses_1',
  title: 'A <b>title</b>',
  source: 'api',
  model: null,
  created_at: '2026-11-01T00:00:00.000Z',
}

async function* each(messages: readonly ExportedMessage[]) {
  yield* messages
}

async function written(format: ExportFormat, messages: readonly ExportedMessage[], system?: string): Promise<string> {
  let all = ''
  for await (const piece of renderExport(format, { session, system, messages: each(messages) })) all += piece
  return all
}

const png = { type: 'image', mediaType: 'image/png', data: 'iVBORw0K' } as const
const conversation: readonly Message[] = [
  { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'Let me see.' },
      { type: 'call', id: 'c1', name: 'terminal', input: { command: 'ls' } },
    ],
    stop: 'tools',
  },
  { role: 'tool', callId: 'c1', name: 'terminal', content: [{ type: 'text', text: '{"output":"a"}' }], failed: false },
  { role: 'assistant', content: [{ type: 'text', text: 'There is a.' }], stop: 'end' },
]

describe('a message', () => {
  const cases: Readonly<Record<string, Message>> = {
    'of plain text': conversation[0] as Message,
    'with an image, in order': { role: 'user', content: [png, { type: 'text', text: 'what?' }] },
    'with an image by address': {
      role: 'user',
      content: [{ type: 'image', mediaType: 'image/*;url', data: 'https://x.test/a.png' }],
    },
    'in two texts': {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    'nobody typed': { role: 'user', content: [{ type: 'text', text: 'so far' }], source: 'summary' },
    'with calls': conversation[1] as Message,
    'with thinking that is signed': {
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

  it.each(Object.entries(cases))('%s comes back as it was', (_name, message) => {
    const line = JSON.parse(JSON.stringify(toExportedMessage(message))) as unknown
    expect(fromExportedMessage(exportedMessageSchema.parse(line))).toEqual(message)
  })

  it('of any content comes back as it was', () => {
    const text = fc.record({ type: fc.constant('text' as const), text: fc.string() })
    const thinking = fc.record({ type: fc.constant('thinking' as const), text: fc.string() })
    const call = fc.record({
      type: fc.constant('call' as const),
      id: fc.string({ minLength: 1, maxLength: 20 }),
      name: fc.string({ minLength: 1, maxLength: 20 }),
      input: fc.dictionary(fc.string(), fc.jsonValue()),
    })
    const spoken = fc.array(fc.oneof(text, fc.constant(png)))
    const message = fc.oneof(
      fc.record({ role: fc.constant('user' as const), content: spoken }),
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

  it('says in the format of chat completions what that can say, and nothing twice', () => {
    expect(toExportedMessage(conversation[1] as Message)).toEqual({
      role: 'assistant',
      content: 'Let me see.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'terminal', arguments: '{"command":"ls"}' } }],
      reasoning: 'hm',
      stop: 'tools',
    })
  })

  it.each([
    ['an address inside of the storage', { role: 'user', parts: [{ ...png, data: 'blob:t/other/s/x/attachments/y' }] }],
    ['the same as an address', { role: 'user', parts: [{ ...png, mediaType: 'image/png;url', data: 'blob:t/x' }] }],
    ['another role', { role: 'system', content: 'x' }],
    ['an unknown part', { role: 'user', parts: [{ type: 'video', data: '' }] }],
  ])('with %s is refused', (_name, given) => {
    expect(exportedMessageSchema.safeParse(given).success).toBe(false)
  })

  it.each(['blob:t/other/s/x/attachments/y', 'http://x.test/a.png', 'data:text/html;base64,AAAA', 'file:///etc'])(
    'with an image at %s loses it',
    (url) => {
      const message = fromExportedMessage({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] })
      expect(message.content).toEqual([{ type: 'text', text: '[an image that did not come along]' }])
    },
  )
})

describe('an export', () => {
  const messages = conversation.map(toExportedMessage)

  it('as json and jsonl says the same', async () => {
    const json = JSON.parse(await written('json', messages)) as { messages: unknown[] }
    const [head, ...lines] = (await written('jsonl', messages))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(json).toEqual({ ...head, messages: lines })
    expect(head).toEqual({ format: 'talaria.session', version: 1, session })
    expect(lines).toEqual(JSON.parse(JSON.stringify(messages)))
  })

  it('of nothing is still one', async () => {
    expect(JSON.parse(await written('json', []))).toMatchObject({ messages: [] })
    expect(JSON.parse(await written('sharegpt', []))).toEqual({ id: 'ses_1', conversations: [] })
  })

  it('as sharegpt has thinking, calls and results in tags', async () => {
    expect(JSON.parse(await written('sharegpt', messages, 'You are.'))).toEqual({
      id: 'ses_1',
      conversations: [
        { from: 'system', value: 'You are.' },
        { from: 'human', value: 'Hello' },
        {
          from: 'gpt',
          value:
            '<think>\nhm\n</think>\nLet me see.\n<tool_call>\n{"name":"terminal","arguments":{"command":"ls"}}\n</tool_call>',
        },
        {
          from: 'tool',
          value:
            '<tool_response>\n{"tool_call_id":"c1","name":"terminal","content":"{\\"output\\":\\"a\\"}"}\n</tool_response>',
        },
        { from: 'gpt', value: '<think>\n</think>\nThere is a.' },
      ],
    })
  })

  it('as markdown has fences that no text can close', async () => {
    const hostile = 'before\n````\n# not a title\n````'
    const text = await written('md', [{ role: 'tool', content: hostile, tool_call_id: 'c', name: 'x' }])
    expect(text).toContain(`\n\`\`\`\`\`\n${hostile}\n\`\`\`\`\`\n`)
    expect(await written('md', messages)).toContain(
      '\n> hm\n\nLet me see.\n\n`terminal`\n\n```json\n{"command":"ls"}\n```\n',
    )
  })

  it('as html runs nothing and loads nothing, whatever was said', async () => {
    const attack = `</div><script>alert(1)</script><img src=x onerror='alert(2)'>"&`
    const hostile: readonly ExportedMessage[] = [
      { role: 'user', content: attack },
      {
        role: 'assistant',
        content: attack,
        reasoning: attack,
        tool_calls: [{ id: 'c', function: { name: attack, arguments: attack } }],
      },
      { role: 'tool', content: attack, tool_call_id: 'c', name: attack },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://evil.test/pixel.png' } }] },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/svg+xml;base64,AAAA' } }] },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
    ]
    const html = await written('html', hostile)
    const tags = [...html.matchAll(/<([a-z0-9]+)/gi)].map(([, tag = '']) => tag.toLowerCase())
    expect(new Set(tags)).toEqual(
      new Set([
        'html',
        'head',
        'meta',
        'title',
        'style',
        'body',
        'h1',
        'p',
        'time',
        'section',
        'h2',
        'div',
        'details',
        'summary',
        'pre',
        'img',
      ]),
    )
    expect(html.match(/<img[^>]*>/g)).toEqual(['<img alt="" src="data:image/png;base64,AAAA">'])
    expect((html.match(/<[^>]+>/g) ?? []).filter((tag) => /onerror|http:|https:|javascript:/.test(tag))).toEqual([])
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(html).toContain('<title>A &lt;b&gt;title&lt;/b&gt;</title>')
  })
})
