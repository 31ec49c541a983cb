/** The object died: what was in flight is counted, and it is said what was interrupted. */

import { noted, type Turn } from '../model/turn.ts'

/** Unchanged when nothing was in flight. */
export function died(turn: Turn, now: number): Turn {
  const what = inFlight(turn)
  if (what === undefined) return turn
  const counted = { ...turn, deaths: { here: turn.deaths.here + 1, total: turn.deaths.total + 1 } }
  // What becomes of a lost call of a model or a lost summary, recovery notes itself.
  return turn.stage.at === 'tools' ? noted(counted, now, 'go on', restartedWhile(turn)) : counted
}

export const restartedWhile = (turn: Turn): string =>
  `the system restarted while ${inFlight(turn) ?? 'the turn waited'}`

function inFlight({ stage }: Turn): string | undefined {
  if (stage.at === 'calling-model') return 'the model answered'
  if (stage.at === 'compressing') return 'the context was shortened'
  const running = stage.at === 'tools' ? stage.calls.filter(({ state }) => state === 'running') : []
  return running.length ? `this ran: ${running.map(({ name }) => name).join(', ')}` : undefined
}
