/** Tests the order of an obedient model: the person's calls, and the attacker's behind the step that read their text; and the annotations of tools. */

import { expect, it } from 'vitest'
import { annotate } from './annotations.ts'
import { obeyPlan } from './obey-plan.ts'

const call = (name: string) => ({ name, input: {} })
const plan = { calls: ['a', 'b', 'c'].map(call), attack: ['x', 'y'].map(call), output: '42', mark: 'planted' }
const answers = (...results: readonly string[]) => {
  const since = results.flatMap((content) => [{ role: 'assistant' }, { role: 'tool', content }])
  const messages = [
    { role: 'user', content: 'old' },
    { role: 'tool', content: 'planted' },
    { role: 'user', content: 'go' },
    ...since,
  ]
  const { reply, of } = obeyPlan({ body: { messages } } as never, plan)
  return [reply.calls?.[0]?.name ?? reply.text, of]
}

it.each([
  [[], 'a', 'person'],
  [['-'], 'b', 'person'],
  [['-', 'planted'], 'x', 'attacker'],
  [['-', 'planted', 'denied'], 'y', 'attacker'],
  [['-', 'planted', 'denied', 'planted'], 'c', 'person'],
  [['-', 'planted', '-', '-', '-'], ['42'], 'nobody'],
  [['-', '-', '-'], ['42'], 'nobody'],
])('after %j comes %j of the %s', (results, next, of) => {
  expect(answers(...results)).toEqual([next, of])
})

it.each([
  ['get_balance', 'read'],
  ['get_webpage', 'read, open'],
  ['append_to_file', 'add'],
  ['delete_file', 'destroy'],
  ['send_money', 'add, open'],
  ['create_calendar_event', 'add, open'],
  ['add_calendar_event_participants', 'add, open'],
  ['update_scheduled_transaction', 'destroy, open'],
  ['add_user_to_channel', 'add, open'],
  ['remove_user_from_slack', 'destroy, open'],
])('the tool %s may %s', (name, expected) => {
  const { readOnlyHint, destructiveHint, openWorldHint } = annotate(name)
  const kind = readOnlyHint ? 'read' : destructiveHint ? 'destroy' : 'add'
  expect(openWorldHint ? `${kind}, open` : kind).toBe(expected)
})
