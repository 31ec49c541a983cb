import { describe, expect, it } from 'vitest'
import type { Message } from '#agent/core/message.ts'
import { type ExportFormat, renderExport } from '#agent/public-api/export.ts'
import { type ExportedMessage, toExportedMessage } from '#agent/public-api/exported-message.ts'

const session = {
  id: 'ses_1',
  title: 'A <b>title</b>',
  source: 'api',
  model: null,
  created_at: '2026-11-01T00:00:00.000Z',
}

async function* stream(messages: readonly ExportedMessage[]) {
  yield* messages
}

async function render(format: ExportFormat, messages: readonly ExportedMessage[], system?: string): Promise<string> {
  let output = ''
  for await (const chunk of renderExport(format, { session, system, messages: stream(messages) })) output += chunk
  return output
}

const transcript: readonly Message[] = [
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

describe('renderExport()', () => {
  const messages = transcript.map(toExportedMessage)

  it('renders the same content as json and jsonl', async () => {
    const json = JSON.parse(await render('json', messages)) as { messages: unknown[] }
    const [head, ...lines] = (await render('jsonl', messages))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(json).toEqual({ ...head, messages: lines })
    expect(head).toEqual({ format: 'talaria.session', version: 1, session })
    expect(lines).toEqual(JSON.parse(JSON.stringify(messages)))
  })

  it('says times to people without thousandths, with their zone', async () => {
    const at = messages.map((message) => ({ ...message, created_at: '2026-11-01T01:30:15.123+02:00' }))
    for (const format of ['html', 'md'] as const) {
      const text = await render(format, at)
      expect(text).toContain('2026-11-01 00:00 UTC')
      expect(text).toContain('2026-11-01 01:30 +02:00')
      expect(text).not.toMatch(/T\d\d:|\.123/)
    }
  })

  it('renders an empty session', async () => {
    expect(JSON.parse(await render('json', []))).toMatchObject({ messages: [] })
    expect(JSON.parse(await render('sharegpt', []))).toEqual({ id: 'ses_1', conversations: [] })
  })

  it('renders thinking, calls and results in tags as sharegpt', async () => {
    expect(JSON.parse(await render('sharegpt', messages, 'You are.'))).toEqual({
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

  it('renders fences as markdown that no text can close', async () => {
    const hostile = 'before\n````\n# not a title\n````'
    const text = await render('md', [{ role: 'tool', content: hostile, tool_call_id: 'c', name: 'x' }])
    expect(text).toContain(`\n\`\`\`\`\`\n${hostile}\n\`\`\`\`\`\n`)
    expect(await render('md', messages)).toContain(
      '\n> hm\n\nLet me see.\n\n`terminal`\n\n```json\n{"command":"ls"}\n```\n',
    )
  })

  it('renders html that runs no scripts and loads nothing', async () => {
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
    const html = await render('html', hostile)
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
