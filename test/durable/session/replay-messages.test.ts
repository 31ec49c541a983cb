/** Tests the events that are restored from the messages of a run. */

import { expect, it } from 'vitest'
import type { Message } from '#agent/core/message.ts'
import { replayMessages } from '#durable/session/views/read-session.ts'

it('a result of the client ends a call of the client, also when another reply has the same call id', () => {
  const call = { type: 'call', id: 'c1', name: 'look', input: { at: 1 } } as const
  const result: Message = {
    role: 'tool',
    callId: 'c1',
    name: 'look',
    content: [{ type: 'text', text: 'seen' }],
    failed: false,
  }
  const messages: readonly Message[] = [
    { role: 'assistant', content: [{ ...call, owner: 'client' }], stop: 'tools' },
    result,
    { role: 'assistant', content: [call], stop: 'tools' },
    result,
  ]
  const events = replayMessages(
    messages.map((message, at) => ({ id: `m${at}`, seq: at + 1, runId: 'r', at: 0, tokens: 1, message })),
  )
  const named = { call_id: 'c1', tool: 'look' }
  const ended = { ...named, failed: false, preview: 'seen' }
  expect(events).toEqual([
    { type: 'client_call.request', ...named, input: '{"at":1}', step: 1 },
    { type: 'client_call.completed', ...ended, step: 1 },
    { type: 'tool.started', ...named, input: { at: 1 }, step: 3 },
    { type: 'tool.completed', ...ended, duration_ms: 0, step: 3 },
  ])
})
