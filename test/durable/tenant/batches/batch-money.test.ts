/** Tests how the budget of a batch is divided, with prompts that start and end in any order. */

import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Batch } from '#durable/tenant/batches/batch.ts'
import { chooseHold, raiseShare } from '#durable/tenant/batches/batch-money.ts'

const prompts = 8
const budgetUsd = 30

/** Runs a batch whose calls need `neededUsd` and cost `costUsd`. `next` chooses which of the running prompts ends. */
function runBatch(neededUsd: number, costUsd: number, concurrency: number, next: (running: number) => number) {
  const running: number[] = []
  let [pending, completed, spentUsd, leastUsd] = [prompts, 0, 0, undefined as number | undefined]
  for (let step = 0; step < 1_000; step++) {
    const heldUsd = running.reduce((sum, held) => sum + held, 0)
    expect(spentUsd + heldUsd).toBeLessThanOrEqual(budgetUsd + 1e-6)
    const plan = { concurrency, budgetUsd }
    const counts = { pending, running: running.length, completed }
    const hold =
      pending && running.length < concurrency
        ? chooseHold({ plan, counts, spentUsd, heldUsd, leastUsd } as Batch)
        : 'wait'
    if (hold === 'over') return completed
    if (typeof hold === 'number') {
      pending--
      running.push(hold)
      continue
    }
    if (running.length === 0) return completed
    const [held = 0] = running.splice(next(running.length), 1)
    if (held < neededUsd) {
      pending++
      leastUsd = Math.max(leastUsd ?? 0, raiseShare(held))
    } else {
      completed++
      spentUsd += costUsd
    }
  }
  throw new Error('The batch does not end.')
}

it('completes every prompt that what the others have left can pay, in whatever order they end', () => {
  const amount = (max: number) => fc.integer({ min: 1, max: max * 100 }).map((cents) => cents / 100)
  const order = fc.infiniteStream(fc.nat())
  fc.assert(
    fc.property(
      amount(25),
      amount(1),
      fc.integer({ min: 1, max: prompts }),
      order,
      (needed, cost, concurrency, ends) => {
        fc.pre(needed <= budgetUsd - (prompts - 1) * cost - 0.01 && cost <= needed)
        const next = (running: number) => (ends.next().value ?? 0) % running
        expect(runBatch(needed, cost, concurrency, next)).toBe(prompts)
      },
    ),
    { numRuns: 500 },
  )
})
