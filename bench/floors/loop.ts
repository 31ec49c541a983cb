/**
 * The looping floor: the least that a durable agent on this stack must do. It stores every message as a row, calls the
 * model, reads its deltas, runs a tool that does nothing, and streams to the client. No policy, no prompt, no recovery.
 */

import { DurableObject } from 'cloudflare:workers'
import { collect, deltasOf, type ToolCall } from './deltas.ts'

export type Env = {
  readonly MODEL_URL: string
  readonly DB: D1Database
  readonly LOOP: DurableObjectNamespace
}

type Message =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string | null; readonly tool_calls?: readonly ToolCall[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }

const tools = [
  {
    type: 'function',
    function: { name: 'todo', description: 'Reads the list.', parameters: { type: 'object', properties: {} } },
  },
]

export class LoopDO extends DurableObject<Env> {
  readonly #messages: Message[]

  constructor(state: DurableObjectState, env: Env) {
    super(state, env)
    const { sql } = state.storage
    sql.exec('CREATE TABLE IF NOT EXISTS message (seq INTEGER PRIMARY KEY, json TEXT NOT NULL)')
    this.#messages = sql
      .exec<{ json: string }>('SELECT json FROM message ORDER BY seq')
      .toArray()
      .map((row) => JSON.parse(row.json) as Message)
  }

  override async fetch(request: Request): Promise<Response> {
    const { messages } = await request.json<{ messages: Message[] }>()
    for (const message of this.#messages.length ? messages.slice(-1) : messages) this.#keep(message)
    const { readable, writable } = new IdentityTransformStream()
    const writer = writable.getWriter()
    this.ctx.waitUntil(this.#loop(writer).finally(() => writer.close()))
    const id = request.headers.get('x-talaria-session-id') ?? ''
    return new Response(readable, { headers: { 'content-type': 'text/event-stream', 'x-talaria-session-id': id } })
  }

  #keep(message: Message): void {
    this.#messages.push(message)
    this.ctx.storage.sql.exec(
      'INSERT INTO message (seq, json) VALUES (?, ?)',
      this.#messages.length,
      JSON.stringify(message),
    )
  }

  async #loop(writer: WritableStreamDefaultWriter<Uint8Array>): Promise<void> {
    const encoder = new TextEncoder()
    const tell = (choice: object): void =>
      void writer.write(encoder.encode(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`))
    for (;;) {
      const { text, calls } = await this.#ask((content) => tell({ delta: { content }, finish_reason: null }))
      this.#keep({ role: 'assistant', content: text || null, ...(calls.length && { tool_calls: calls }) })
      for (const call of calls) this.#keep({ role: 'tool', tool_call_id: call.id, content: '{"todos":[]}' })
      if (calls.length) continue
      tell({ delta: {}, finish_reason: 'stop' })
      await writer.write(encoder.encode('data: [DONE]\n\n'))
      return
    }
  }

  async #ask(onText: (text: string) => void): Promise<{ text: string; calls: ToolCall[] }> {
    const answer = await fetch(`${this.env.MODEL_URL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'bench', messages: this.#messages, tools, stream: true }),
    })
    if (!answer.ok || !answer.body) throw new Error(`the model server answered ${answer.status}`)
    let text = ''
    const calls: ToolCall[] = []
    for await (const delta of deltasOf(answer.body)) {
      if (delta.content) {
        text += delta.content
        onText(delta.content)
      }
      for (const fragment of delta.tool_calls ?? []) collect(calls, fragment)
    }
    return { text, calls }
  }
}
