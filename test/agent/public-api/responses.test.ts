import { expect, it } from 'vitest'
import { renderRunItems } from '../../../src/agent/public-api/responses.ts'

it('renderRunItems() renders the stored messages of a run as output items', () => {
  const calls = [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }]
  const items = renderRunItems([
    { id: 'm1', role: 'user', content: 'hi' },
    { id: 'm2', role: 'assistant', content: 'I look.', reasoning: 'hm', tool_calls: calls },
    { id: 'm3', role: 'tool', content: 'a tree', tool_call_id: 'c1' },
    { id: 'm4', role: 'assistant', content: null },
    { id: 'm5', role: 'assistant', content: 'A tree.' },
  ])
  expect(items.map(({ type }) => type)).toEqual([
    'reasoning',
    'message',
    'function_call',
    'function_call_output',
    'message',
  ])
  expect(new Set(items.map(({ id }) => id)).size).toBe(5)
})
