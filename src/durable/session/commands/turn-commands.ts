/** `/stop`, `/steer` and `/queue`: act on the turn that runs. */

import { log } from '#agent/core/log.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { pauseGoal } from '#agent/schedule/goal/goal.ts'
import { pause } from '#agent/schedule/recurring/recurring.ts'
import { saveGoal } from '../core/save-goal.ts'
import type { Session } from '../session.ts'
import { reply, type CommandHandler, usageReply } from './command.ts'

export const stopCommand: CommandHandler = (session) => reply(renderStopped(stopAll(session)))

export const steerCommand: CommandHandler = (_session, { text }) =>
  text ? { kind: 'message', text, mode: 'steer' } : usageReply('steer')

export const queueCommand: CommandHandler = (_session, { text }) =>
  text ? { kind: 'message', text, mode: 'queue' } : usageReply('queue')

export type Stopped = {
  readonly wasRunning: boolean
  readonly queued: number
  readonly processes: number
  readonly paused: readonly ('goal' | 'loop')[]
}

/** Stops everything that goes on in the session. What was queued is never run. */
export function stopAll(session: Session): Stopped {
  const { store, queue, turns } = session
  const queued = store.queued().map(({ item }) => item.runId)
  for (const runId of queued) queue.takeBack(runId)
  const wasRunning = turns.stop()
  return { wasRunning, queued: queued.length, processes: stopProcesses(session), paused: pauseWork(session) }
}

/** Self-started work of the session would start the next turn. */
function pauseWork(session: Session): Stopped['paused'] {
  const { goal, loop } = session.meta
  const reason = 'A person has stopped it.'
  const isGoalActive = goal?.state.at === 'active' || goal?.state.at === 'waiting'
  const isLoopActive = loop?.state.at === 'active'
  if (goal && isGoalActive) saveGoal(session, { ...pauseGoal(goal, reason), version: goal.version + 1 })
  if (loop && isLoopActive) session.updateMeta({ loop: pause(loop, reason) })
  return [...(isGoalActive ? ['goal' as const] : []), ...(isLoopActive ? ['loop' as const] : [])]
}

function stopProcesses(session: Session): number {
  const { processes } = session.toolRuntime
  const running = processes.list().filter(({ state }) => state.at === 'running')
  const stop = async (id: string): Promise<void> => {
    try {
      await processes.kill(id)
      // The person knows: no turn has to tell.
      processes.markReported(id)
    } catch (error) {
      if (isOwnReset(error)) throw error
      log.warn('processes.unstopped', 'A background process could not be stopped.', { error })
    }
  }
  for (const { id } of running) session.runInBackground(stop(id))
  return running.length
}

function renderStopped({ wasRunning, queued, processes, paused }: Stopped): string {
  const parts = [
    ...(wasRunning ? ['the turn'] : []),
    ...(queued ? [`${queued} queued ${queued > 1 ? 'messages' : 'message'}`] : []),
    ...(processes ? [`${processes} background ${processes > 1 ? 'processes' : 'process'}`] : []),
    ...paused.map((kind) => `the ${kind} (/${kind} resume goes on)`),
  ]
  return parts.length ? `Stopped: ${parts.join(', ')}.` : 'Nothing is running.'
}
