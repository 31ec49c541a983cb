/**
 * Runs the agent loop: decide, store the intent, perform it, store the result, and again until nothing is left to do.
 * After every `await` the object may be a new one, so the turn is read from the store again.
 */

import type { Perform, Store, View } from '#agent/core/ports.ts'
import type { Step } from '#agent/core/step.ts'
import { enter } from './enter.ts'
import { resume } from './resume.ts'
import { settle } from './settle.ts'
import { stopOutcome, type Turn } from '#agent/core/turn.ts'
import { beforeModel } from './policies.ts'

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

/**
 * Decides the next step from the stage of the turn. Pure: the same turn and view always give the same step, also after
 * a crash.
 */
function next(turn: Turn, view: View): Step {
  const { stage } = turn
  switch (stage.at) {
    case 'ready':
      return stepBeforeModel(turn, view)

    case 'waiting':
      return view.now < stage.until && !turn.stopRequested
        ? { do: 'rest', until: stage.until }
        : stepBeforeModel(turn, view)

    case 'tools': {
      if (turn.stopRequested) return { do: 'finish', outcome: stopOutcome(turn) }
      const calls = stage.calls.filter((call) => call.state === 'planned')
      return calls.length ? { do: 'run-tools', calls: view.selectConcurrent(calls) } : { do: 'rest' }
    }

    case 'compressing':
      return { do: 'compress' }

    case 'calling-model':
      throw new Error('A model call is in flight. resume() settles it before anything else happens.')

    case 'done':
      return { do: 'rest' }
  }
}

function stepBeforeModel(turn: Turn, view: View): Step {
  for (const policy of beforeModel) {
    const step = policy(turn, view)
    if (step) return step
  }
  return {
    do: 'call-model',
    tools: true,
    ...(turn.nextInstruction !== undefined && { instruction: turn.nextInstruction }),
  }
}
