/** Which turn follows the one that has ended: what was said too late for it, then what was queued. */

import { together } from '../agent/loop/enter.ts'
import type { UserMessage } from '../agent/model/message.ts'
import type { TurnOptions } from '../agent/model/options.ts'
import { newRunId } from './ids.ts'
import type { SessionStore } from './store.ts'

export type TurnRequest = {
  readonly runId: string
  readonly message: UserMessage
  readonly options: TurnOptions
}

/** Takes it out of the inbox. After a stop, what was said into the stopped turn is let go. */
export function nextTurn(store: SessionStore): TurnRequest | undefined {
  const late = store.inbox()
  const { stage, options } = store.turn()
  store.unsay(late.map(({ id }) => id))
  const isStopped = stage.at === 'done' && stage.outcome === 'stopped'
  if (late.length && !isStopped) return { runId: newRunId(), message: together(late), options }
  const [queued] = store.queued()
  if (queued) store.unsay([queued.id])
  else store.write()
  return queued?.item
}
