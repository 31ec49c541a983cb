/** Tests the shop and the replaying model with a small shop of our own. */

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { replayTask } from './replay-task.ts'
import { callRetail } from './retail.ts'
import { applyGold, hashShop, readShop, readTasks } from './tasks.ts'

const folder = join(import.meta.dirname, 'sample')
const shopAfter = (calls: readonly (readonly [string, object])[]) => {
  const shop = readShop(folder)
  const results = calls.map(([name, input]) => callRetail(shop, name, input as Record<string, unknown>))
  return { shop, results }
}

it('applies the calls of a task, and a refused call changes nothing', () => {
  const [shop, tasks] = [readShop(folder), readTasks(folder)]
  expect(new Set([hashShop(shop), ...tasks.map((task) => applyGold(shop, task))]).size).toBe(5)
  const refused = { id: 'x', calls: [{ name: 'cancel_pending_order', input: { order_id: '#W2', reason: 'x' } }] }
  expect(applyGold(shop, refused)).toBe(hashShop(shop))
})

it('moves money with the orders', () => {
  const { shop } = shopAfter([
    ['cancel_pending_order', { order_id: '#W1', reason: 'no longer needed' }],
    [
      'modify_pending_order_items',
      { order_id: '#W3', item_ids: ['i1'], new_item_ids: ['i2'], payment_method_id: 'gift_card_1' },
    ],
  ])
  expect(shop.users['ann_1']?.payment_methods['gift_card_1']?.balance).toBe(27.5)
  expect(shop.orders['#W3']).toMatchObject({
    status: 'pending (item modified)',
    items: [{ item_id: 'i2', price: 12.5 }],
  })
})

it.each([
  [
    'exchange_delivered_order_items',
    { order_id: '#W2', item_ids: ['i1'], new_item_ids: ['i3'], payment_method_id: 'paypal_1' },
    'not available',
  ],
  [
    'return_delivered_order_items',
    { order_id: '#W2', item_ids: ['i1', 'i1'], payment_method_id: 'paypal_1' },
    'no item',
  ],
  ['modify_pending_order_payment', { order_id: '#W3', payment_method_id: 'paypal_1' }, 'already'],
  ['calculate', { expression: 'process.exit()' }, 'other characters'],
  ['get_user_details', { user_id: 'bob' }, 'does not exist'],
])('refuses %s %j', (name, input, message) => {
  expect(() => shopAfter([[name, input]])).toThrow(message)
})

it('replays a task, reading calls in pairs, and repeats only what the shop has not done', () => {
  const [task] = readTasks(folder)
  if (!task) throw new Error('There is no task.')
  const asked = (messages: readonly object[]) =>
    ({ body: { messages: [{ role: 'user', content: 'lane 0' }, ...messages] } }) as never
  const callOf = (nth: number, id: string) => ({
    id,
    function: { name: `s__${task.calls[nth]?.name}`, arguments: JSON.stringify(task.calls[nth]?.input) },
  })
  const result = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })
  const pair = [{ role: 'assistant', tool_calls: [callOf(0, 'a'), callOf(1, 'b')] }, result('a', 'x'), result('b', 'y')]
  const third = [...pair, { role: 'assistant', tool_calls: [callOf(2, 'c')] }]
  const next = (messages: readonly object[], hasDone: boolean) =>
    replayTask(asked(messages), task, 's__', () => hasDone)
  expect(next([], false).calls).toHaveLength(2)
  expect(next(pair, false).calls).toMatchObject([{ name: 's__cancel_pending_order' }])
  for (const text of ['Interrupted: …', 'The server s did not answer: … The call may have taken effect: …']) {
    const lost = [...third, result('c', text)]
    expect(next(lost, false).calls).toMatchObject([{ name: 's__cancel_pending_order' }])
    expect(next(lost, true)).toEqual({ text: ['Done', '.'] })
  }
})
