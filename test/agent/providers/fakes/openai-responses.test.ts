/** Checks the validator itself: one that accepted everything would make every suite pass. */

import { describe, expect, it } from 'vitest'
import { findResponsesViolations } from './openai-responses.ts'
import { assistantCalls, toolResult } from '../support/requests.ts'
import { helloMessage, reasoningItem, renderJson } from '../support/responses-requests.ts'

describe('findResponsesViolations', () => {
  const user = { role: 'user', content: 'go' }
  const output = (callId: string) => ({ type: 'function_call_output', call_id: callId, output: 'x' })
  const called = (callId: string) => ({ type: 'function_call', call_id: callId, name: 'look', arguments: '{}' })
  const answer = { role: 'assistant', content: 'Yes.' }
  const bodies: readonly (readonly [string, object, RegExp])[] = [
    [
      'accepts a valid body',
      { input: [user, reasoningItem('rs_1'), called('a'), output('a'), reasoningItem('rs_2'), answer] },
      /^$/,
    ],
    ['rejects an unknown field', { input: [user], messages: [] }, /messages/],
    ['rejects a result without its call', { input: [user, output('a')] }, /result of a has no call before it/],
    [
      'rejects a result before its call',
      { input: [user, output('a'), called('a')] },
      /result of a has no call before it/,
    ],
    ['rejects a call without its result', { input: [user, called('a')] }, /no result for the calls a/],
    [
      'rejects a message between call and result',
      { input: [user, called('a'), user, output('a')] },
      /before the results of a/,
    ],
    [
      'rejects two calls with one id',
      { input: [user, called('a'), output('a'), called('a'), output('a')] },
      /used twice/,
    ],
    ['rejects reasoning at the end', { input: [user, reasoningItem('rs_1')] }, /has no following item/],
    [
      'rejects reasoning before a user message',
      { input: [user, reasoningItem('rs_1'), user] },
      /has no following item/,
    ],
    [
      'rejects repeated reasoning',
      { input: [user, reasoningItem('rs_1'), answer, reasoningItem('rs_1'), answer] },
      /used twice/,
    ],
    [
      'rejects reasoning that is stored nowhere',
      { store: false, input: [user, { ...reasoningItem('rs_1'), encrypted_content: null }, answer] },
      /stored nowhere/,
    ],
    ['rejects a too long id', { input: [user, called('a'.repeat(65)), output('a'.repeat(65))] }, /input/],
    [
      'rejects arguments that are not JSON',
      { input: [user, { ...called('a'), arguments: '{"a' }, output('a')] },
      /input/,
    ],
    ['rejects empty input', { input: [] }, /input/],
    ['rejects a lone surrogate', { input: [{ ...user, content: '\ud83d' }] }, /lone surrogate/],
  ]
  it.each(bodies)('%s', (_name, body, pattern) => {
    const violations = findResponsesViolations({ model: 'gpt', ...body })
    expect(violations.join('\n')).toMatch(pattern)
  })

  it('accepts the bodies that we render', () => {
    expect(
      findResponsesViolations(
        renderJson({ transcript: [helloMessage, assistantCalls('c1', 'c2'), toolResult('c2', 'two')] }),
      ),
    ).toEqual([])
  })
})
