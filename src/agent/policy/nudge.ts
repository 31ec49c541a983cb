/** Some models answer with nothing at all, mostly after tools. Ask once or twice more before giving in. */

import { callsIn, textIn } from '../model/message.ts'
import { addUsage } from '../model/usage.ts'
import { isSpent } from './budget.ts'
import type { Verdict } from './policy.ts'

const ceiling = 2

export const nudge: Verdict = (turn, result) => {
  if (result.of !== 'model' || isSpent(turn)) return undefined
  if (textIn(result.reply).trim() || callsIn(result.reply).length) return undefined
  if (turn.used.nudges >= ceiling) return undefined
  return {
    turn: {
      ...turn,
      stage: { at: 'ready' },
      used: { ...turn.used, nudges: turn.used.nudges + 1 },
      usage: addUsage(turn.usage, result.usage),
      say: 'Your last message was empty. Go on with the task, or give your final answer.',
    },
  }
}
