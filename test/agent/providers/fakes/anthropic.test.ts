/** Checks the validator itself: one that accepted everything would make every suite pass. */

import { expect, it } from 'vitest'
import { findAnthropicViolations } from './anthropic.ts'

const user = (...content: object[]) => ({ role: 'user', content })
const assistant = (...content: object[]) => ({ role: 'assistant', content })
const text = { type: 'text', text: 'a' }
const call = { type: 'tool_use', id: 'c1', name: 'look', input: {} }
const result = { type: 'tool_result', tool_use_id: 'c1', content: 'b' }
const tool = { name: 'look', input_schema: { type: 'object' } }
const cacheMark = { cache_control: { type: 'ephemeral' } }
const bodyWith = (...messages: object[]) => ({ model: 'm', max_tokens: 9_000, stream: true, tools: [tool], messages })
const thinkingBudget = { thinking: { type: 'enabled', budget_tokens: 2_000 } }
const invalidBodies: readonly (readonly [string, object, RegExp])[] = [
  ['an unknown field', { ...bodyWith(user(text)), top: 1 }, /unrecognized/i],
  ['a call without a result', bodyWith(user(text), assistant(call), user(text)), /no result for c1/],
  ['a result without a call', bodyWith(user(result)), /has no call/],
  [
    'a result in a later message',
    bodyWith(user(text), assistant(call), user(text), assistant(text), user(result)),
    /no result/,
  ],
  ['text before results', bodyWith(user(text), assistant(call), user(text, result)), /before its results/],
  ['two user messages in a row', bodyWith(user(text), user(text)), /role user/],
  ['an assistant message at the end', bodyWith(user(text), assistant(text)), /must not be from the assistant/],
  [
    'an id with a colon',
    bodyWith(user(text), assistant({ ...call, id: 'a:b' }), user({ ...result, tool_use_id: 'a:b' })),
    /tool_use_id: .*pattern/,
  ],
  [
    'thinking without a signature',
    bodyWith(user(text), assistant({ type: 'thinking', thinking: 'a' }, text), user(text)),
    /signature/,
  ],
  [
    'a turn with tool calls that did not begin with thinking',
    { ...bodyWith(user(text), assistant(call), user(result)), ...thinkingBudget },
    /expected thinking/,
  ],
  ['a temperature with thinking', { ...bodyWith(user(text)), ...thinkingBudget, temperature: 0 }, /temperature/],
  ['a budget above max_tokens', { ...bodyWith(user(text)), ...thinkingBudget, max_tokens: 2_000 }, /budget/],
  ['blank text', bodyWith(user({ type: 'text', text: ' ' })), /text: .*pattern/],
  [
    'five cache marks',
    bodyWith(user(...Array.from({ length: 5 }, () => ({ ...text, ...cacheMark })))),
    /5 cache marks/,
  ],
  [
    'a cache mark on thinking',
    bodyWith(
      user(text),
      assistant({ type: 'thinking', thinking: 'a', signature: 'b', ...cacheMark }, text),
      user(text),
    ),
    /unrecognized/i,
  ],
  [
    'thinking at the end',
    bodyWith(user(text), assistant(text, { type: 'redacted_thinking', data: 'a' }), user(text)),
    /ends with thinking/,
  ],
  ['a lone surrogate', bodyWith(user({ type: 'text', text: '\ud83d' })), /lone surrogate/],
  [
    'tool calls without tool definitions',
    { ...bodyWith(user(text), assistant(call), user(result)), tools: undefined },
    /without tool definitions/,
  ],
]
it.each(invalidBodies)('rejects %s', (_name, body, violation) => {
  expect(findAnthropicViolations(JSON.parse(JSON.stringify(body))).join('\n')).toMatch(violation)
})
