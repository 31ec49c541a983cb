/** Talks to the agent with the OpenAI SDK. */

import assert from 'node:assert/strict'
import OpenAI from 'openai'
import { connection } from './talaria.ts'

const client = new OpenAI({ baseURL: `${connection.url}/v1`, apiKey: connection.key })

const { data: first, response } = await client.chat.completions
  .create({ model: 'demo/agent', messages: [{ role: 'user', content: 'write notes.txt: buy milk' }] })
  .withResponse()
assert.match(first.choices[0]?.message.content ?? '', /bytes_written/)

// The header names the session behind the answer. Sent back, the next message continues it, with its files.
const session = response.headers.get('x-talaria-session-id') ?? ''
assert.notEqual(session, '')
const stream = await client.chat.completions.create(
  { model: 'demo/agent', stream: true, messages: [{ role: 'user', content: 'run: cat notes.txt' }] },
  { headers: { 'X-Talaria-Session-Id': session } },
)
let text = ''
for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
assert.match(text, /buy milk/)

console.log('The agent wrote a file with one request and read it with the next.')
