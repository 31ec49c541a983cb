/** Uses the native API: a session, a file of its workspace, and the events of a turn. */

import assert from 'node:assert/strict'
import { api, connection, events } from './talaria.ts'

const { id } = await api<{ readonly id: string }>('POST', '/api/sessions', { title: 'Example', model: 'demo/agent' })

await fetch(`${connection.url}/api/sessions/${id}/files/words.txt`, {
  method: 'PUT',
  headers: { authorization: `Bearer ${connection.key}` },
  body: 'one two three\n',
})

const seen: string[] = []
let output = ''
for await (const { type, data } of events(`/api/sessions/${id}/chat/stream`, { input: 'run: wc -w < words.txt' })) {
  seen.push(type)
  if (type === 'run.completed') output = (data as { readonly output: string }).output
}
assert.ok(seen.includes('tool.started') && seen.includes('tool.completed'), `events: ${seen.join(' ')}`)
assert.equal(seen.at(-1), 'run.completed')
assert.match(output, /\b3\b/)

const { data: messages } = await api<{ readonly data: readonly { readonly role: string }[] }>(
  'GET',
  `/api/sessions/${id}/messages`,
)
assert.deepEqual(
  messages.map(({ role }) => role),
  ['user', 'assistant', 'tool', 'assistant'],
)
await api('DELETE', `/api/sessions/${id}`)

console.log('The agent counted the words of an uploaded file.')
