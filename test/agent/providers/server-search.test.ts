/**
 * Tests web searches that the provider runs: what it is offered in each dialect, how its answers are read at any size of
 * chunks, and that the next request has them unchanged.
 */

import { describe, expect, it } from 'vitest'
import type { CallOptions, DialectReply, ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { type Message, textIn, thinkingIn, userText } from '#agent/core/message.ts'
import { renderMessagesBody } from '#agent/providers/anthropic/body.ts'
import { readMessagesStream } from '#agent/providers/anthropic/stream.ts'
import { renderChatBody } from '#agent/providers/openai/chat.ts'
import { readChatStream } from '#agent/providers/openai/chat-stream.ts'
import { renderResponsesBody } from '#agent/providers/openai/responses.ts'
import { readResponsesStream } from '#agent/providers/openai/responses-stream.ts'
import { addCost } from '#durable/models/pricing.ts'
import { chunkedResponse, skipSleep } from './support/chunked-response.ts'

type Json = Readonly<Record<string, unknown>>

const named = (name: string) => ({ name, description: '', inputSchema: { type: 'object' } })
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'm',
  system: '',
  transcript: [userText('tides?')],
  tools: [named('web_search'), named('read_file')],
  serverSearch: true,
  ...more,
})

const source = { url: 'https://tides.example/a', title: 'Tides' }
const call = { type: 'server_tool_use', id: 'srv1', name: 'web_search', input: { query: 'tides today' } }
const found = {
  type: 'web_search_tool_result',
  tool_use_id: 'srv1',
  content: [{ type: 'web_search_result', ...source, encrypted_content: 'c2VhbGVk', page_age: null }],
}
const citation = { type: 'web_search_result_location', ...source, encrypted_index: 'aW5kZXg', cited_text: 'High' }
const item = {
  type: 'web_search_call',
  id: 'ws1',
  status: 'completed',
  action: { type: 'search', query: 'tides today' },
}
const annotation = { type: 'url_citation', ...source, start_index: 0, end_index: 4 }

type Noticed = Pick<CallOptions, 'onDelta' | 'onServerSearch'>

type Case = {
  readonly form: NonNullable<Quirks['serverSearch']>
  readonly tool: Json
  readonly render: (request: ModelRequest, quirks: Quirks) => Uint8Array
  readonly read: (response: Response, on: Noticed) => Promise<DialectReply>
  readonly events: readonly Json[]
  /** The part of the search that the next request has. */
  readonly kept: readonly Json[]
  readonly searches: number
  readonly shown: string
}

const readOptions = (on: Noticed) => ({ ...on, onActivity: () => {}, sleep: skipSleep })

const cases: readonly Case[] = [
  {
    form: 'anthropic',
    tool: { type: 'web_search_20250305', name: 'web_search', max_uses: 10 },
    render: renderMessagesBody,
    read: (response, on) => readMessagesStream(response, readOptions(on)),
    events: [
      { type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { ...call, input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"query":"tides' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: ' today"}' } },
      { type: 'content_block_start', index: 1, content_block: found },
      { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '', citations: null } },
      { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'High at six.' } },
      { type: 'content_block_delta', index: 2, delta: { type: 'citations_delta', citation } },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { output_tokens: 5, server_tool_use: { web_search_requests: 1 } },
      },
      { type: 'message_stop' },
    ],
    kept: [call, found, { type: 'text', text: 'High at six.', citations: [citation] }],
    searches: 1,
    shown: 'Searched the web: tides today\n',
  },
  {
    form: 'openai-responses',
    tool: { type: 'web_search' },
    render: renderResponsesBody,
    read: (response, on) => readResponsesStream(response, readOptions(on)),
    events: [
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', action: null } },
      { type: 'response.web_search_call.searching', output_index: 0, item_id: 'ws1' },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.output_item.added', output_index: 1, item: { type: 'message', id: 'm1', content: [] } },
      { type: 'response.output_text.delta', output_index: 1, item_id: 'm1', delta: 'High at six.' },
      {
        type: 'response.output_item.done',
        output_index: 1,
        item: {
          type: 'message',
          id: 'm1',
          content: [{ type: 'output_text', text: 'High at six.', annotations: [annotation] }],
        },
      },
      { type: 'response.completed', response: { usage: { input_tokens: 10, output_tokens: 5 } } },
    ],
    kept: [item],
    searches: 1,
    shown: 'Searched the web: tides today\n',
  },
  {
    form: 'openai-chat',
    tool: { type: 'openrouter:web_search' },
    render: renderChatBody,
    read: (response, on) => readChatStream(response, readOptions(on)),
    events: [
      { choices: [{ delta: { content: 'High at six.' } }] },
      { choices: [{ delta: { annotations: [{ type: 'url_citation', url_citation: annotation }] } }] },
      { choices: [{ delta: {}, finish_reason: 'stop' }] },
      {
        choices: [],
        usage: { prompt_tokens: 10, completion_tokens: 5, server_tool_use: { web_search_requests: 2 } },
      },
    ],
    kept: [],
    searches: 2,
    shown: '',
  },
]

const parse = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes)) as Json & { tools: readonly Json[] }
const namesOf = (tools: readonly Json[]) =>
  tools.map((tool) => tool['name'] ?? (tool['function'] as Json | undefined)?.['name'] ?? tool['type'])

describe.each(cases)('the web search of a provider in the form $form', (one) => {
  const quirks: Quirks = { serverSearch: one.form }
  const noticed: string[] = []
  const answer = async (size: number, events = one.events) => {
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    let [streamed, shown] = ['', '']
    noticed.length = 0
    const end = events === one.events ? 'data: [DONE]\n\n' : ''
    const response = chunkedResponse(new TextEncoder().encode(`${body}${end}`), size, 'text/event-stream')
    const reply = await one.read(response, {
      onDelta: ({ of, text }) => {
        if (of === 'text') streamed += text
        else shown += text
      },
      onServerSearch: (search) => void noticed.push(search),
    })
    return { ...reply, streamed, shown }
  }

  it('takes the place of our tool', () => {
    const { tools } = parse(one.render(request(), quirks))
    expect(tools).toHaveLength(2)
    expect(tools[1]).toEqual(one.tool)
    expect(namesOf(tools)[0]).toBe('read_file')
    expect(JSON.stringify(tools).match(/web_search/g)).toHaveLength(one.form === 'anthropic' ? 2 : 1)
  })

  it('is not offered to a model without it, without the setting, or where our tool is switched off', () => {
    expect(namesOf(parse(one.render(request(), {})).tools)).toEqual(['web_search', 'read_file'])
    const unset = request({ serverSearch: false })
    expect(namesOf(parse(one.render(unset, quirks)).tools)).toEqual(['web_search', 'read_file'])
    expect(namesOf(parse(one.render(request({ tools: [named('read_file')] }), quirks)).tools)).toEqual(['read_file'])
    const other: Quirks = { serverSearch: one.form === 'anthropic' ? 'openai-chat' : 'anthropic' }
    expect(namesOf(parse(one.render(request(), other)).tools)).toEqual(['web_search', 'read_file'])
  })

  it.each([1, 7, 1_000_000])('is read from chunks of %i bytes', async (size) => {
    const { message, usage, streamed, shown } = await answer(size)
    expect(textIn(message)).toBe('High at six.\n\nSources:\n- Tides: <https://tides.example/a>')
    expect(streamed).toBe(textIn(message))
    expect(thinkingIn(message)).toBe(one.shown)
    expect(shown).toBe(one.shown)
    expect(message.stop).toBe('end')
    expect(message.content.some((part) => part.type === 'thinking' && part.search !== undefined)).toBe(true)
    expect(noticed).toEqual([one.form === 'openai-chat' ? 'possible' : 'begun'])
    expect(usage.webSearches).toBe(one.searches)
    const prices = { input: 0, output: 0, cachedRead: 0, cachedWrite: 0 }
    expect(addCost(usage, { dialect: one.form, prices })).toMatchObject({
      costUsd: one.searches / 100,
      costStatus: 'estimated',
    })
  })

  it.skipIf(one.form === 'openai-chat')('is noticed when it begins, though the connection is lost then', async () => {
    await expect(answer(100, one.events.slice(0, 2))).rejects.toThrow('ended before the reply was complete')
    expect(noticed).toEqual(['begun'])
  })

  it('is in the next request as it came', async () => {
    const { message } = await answer(100)
    const transcript: readonly Message[] = [userText('tides?'), message, userText('and tomorrow?')]
    const body = parse(one.render(request({ transcript }), quirks))
    const sent = (body['messages'] ?? body['input']) as readonly { readonly content?: unknown }[]
    const blocks = one.form === 'anthropic' ? (sent[1]?.content as readonly Json[]) : sent
    for (const block of one.kept) expect(blocks).toContainEqual(block)
    expect(JSON.stringify(sent)).toContain('and tomorrow?')
    // Data of the search goes to no model of another form.
    const foreign = parse(
      one.form === 'anthropic'
        ? renderChatBody(request({ transcript }), { echoThinking: 'reasoning_content' })
        : renderMessagesBody(request({ transcript }), { serverSearch: 'anthropic' }),
    )
    expect(JSON.stringify(foreign)).not.toMatch(/c2VhbGVk|ws1|Searched the web/)
    expect(JSON.stringify(foreign)).toContain('https://tides.example/a')
  })
})

describe('the web search of Anthropic', () => {
  it('without its result is not sent back', async () => {
    const body = [
      { type: 'message_start', message: { usage: {} } },
      { type: 'content_block_start', index: 0, content_block: call },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'Later.' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: {} },
      { type: 'message_stop' },
    ]
    const text = body.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    const response = new Response(text, { headers: { 'content-type': 'text/event-stream' } })
    const { message } = await readMessagesStream(response, readOptions({ onDelta: () => {} }))
    const sent = renderMessagesBody(request({ transcript: [userText('a'), message, userText('b')] }), {
      serverSearch: 'anthropic',
    })
    expect(thinkingIn(message)).toContain('tides today')
    expect(new TextDecoder().decode(sent)).not.toContain('server_tool_use')
  })

  it('goes back only together with its tool', async () => {
    const sealed = { by: 'anthropic', data: { block: call } }
    const message: Message = {
      role: 'assistant',
      stop: 'end',
      content: [
        { type: 'thinking', text: '', search: 'q', sealed },
        { type: 'text', text: 'Six.' },
      ],
    }
    const transcript = [userText('a'), message, userText('b')]
    const render = (serverSearch: boolean) =>
      new TextDecoder().decode(renderMessagesBody(request({ transcript, serverSearch }), { serverSearch: 'anthropic' }))
    expect(render(true)).toContain('server_tool_use')
    expect(render(false)).not.toContain('server_tool_use')
  })
})
