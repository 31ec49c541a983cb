/**
 * The agent loop. Decide, write down the intent, do it, write down the result; again, until there
 * is nothing to do. Every line after an await may be the first one that runs in a new life.
 */

import type { Perform, Store, View } from '../model/ports.ts'
import type { Step } from '../model/step.ts'
import { enter } from './enter.ts'
import { next } from './next.ts'
import { resume } from './resume.ts'
import { settle } from './settle.ts'

export type Machine = { readonly store: Store; readonly perform: Perform; readonly view: () => View }

/**
 * Runs the turn as far as it goes now. Returns why it stopped: done, or waiting for a time or a person.
 * What came back and what is about to happen share one write, always before the next effect begins.
 */
export async function drive({ store, perform, view: look }: Machine): Promise<Extract<Step, { do: 'rest' }>> {
  store.save(resume(store.turn(), look()))
  for (;;) {
    const view = look()
    const step = next(store.turn(), view)
    if (step.do !== 'rest') store.save(enter(store.turn(), step, view))
    store.write()
    if (step.do === 'rest') return step
    if (step.do === 'finish') continue
    for await (const result of perform(step, store.turn())) {
      store.save(settle(store.turn(), result, look()))
      // Others of the batch are still running: this result must not be lost with them.
      if (step.do === 'run-tools' && store.turn().stage.at === 'tools') store.write()
    }
  }
}
