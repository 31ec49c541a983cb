/**
 * Runs the agent loop: decide, store the intent, perform it, store the result, and again until nothing is left to do.
 * After every `await` the object may be a new one, so the turn is read from the store again.
 */

import type { Perform, Store, View } from '#agent/core/ports.ts'
import type { Step } from '#agent/core/step.ts'
import { enter } from './enter.ts'
import { next } from './next.ts'
import { resume } from './resume.ts'
import { settle } from './settle.ts'

export type Machine = { readonly store: Store; readonly perform: Perform; readonly view: () => View }

/**
 * Runs the turn until it is done or waits, and returns that step. A result and the next intent share one write, before
 * the next effect begins.
 */
export async function drive({ store, perform, view: readView }: Machine): Promise<Extract<Step, { do: 'rest' }>> {
  store.save(resume(store.turn(), readView()))
  for (;;) {
    const view = readView()
    const step = next(store.turn(), view)
    if (step.do !== 'rest') store.save(enter(store.turn(), step, view))
    store.write()
    if (step.do === 'rest') return step
    if (step.do === 'finish') continue
    for await (const result of perform(step, store.turn())) {
      store.save(settle(store.turn(), result, readView()))
      const { at } = store.turn().stage
      // Other calls of the batch still run: their loss must not lose this result. An ended turn is stored before anybody
      // can read its end.
      if (at === 'done' || (step.do === 'run-tools' && at === 'tools')) store.write()
    }
  }
}
