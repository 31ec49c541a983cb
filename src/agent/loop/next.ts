/**
 * Decides the next step from the stage of the turn. Pure: the same turn and view always give the same step, also after
 * a crash.
 */

import type { View } from '#agent/core/ports.ts'
import type { Step } from '#agent/core/step.ts'
import { stopOutcome, type Turn } from '#agent/core/turn.ts'
import { beforeModel } from './policies.ts'

export function next(turn: Turn, view: View): Step {
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
  return { do: 'call-model', tools: true, ...(turn.say !== undefined && { say: turn.say }) }
}
