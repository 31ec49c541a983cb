/** Checks the validator itself: one that accepted everything would make every suite pass. */

import type OpenAI from 'openai'
import { expect, it } from 'vitest'
import { findChatViolations } from './openai-chat.ts'

const validBody = {
  model: 'm',
  stream: true,
  stream_options: { include_usage: true },
  messages: [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: [{ type: 'text', text: 'hello' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'seen' },
  ],
} satisfies OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming

it('accepts a body that has the types of the SDK', () => {
  expect(findChatViolations(validBody)).toEqual([])
})

const invalidBodies: readonly (readonly [string, object, RegExp])[] = [
  ['an unknown field', { ...validBody, top: 1 }, /unrecognized/i],
  ['a call without a result', { ...validBody, messages: validBody.messages.slice(0, 3) }, /without results/],
  [
    'a result without a call',
    { ...validBody, messages: [...validBody.messages.slice(0, 2), validBody.messages[3]] },
    /no open call/,
  ],
  [
    'two user messages in a row',
    { ...validBody, messages: [validBody.messages[1], validBody.messages[1]] },
    /second user/,
  ],
]
it.each(invalidBodies)('rejects %s', (_name, body, violation) => {
  expect(findChatViolations(body).join('\n')).toMatch(violation)
})
