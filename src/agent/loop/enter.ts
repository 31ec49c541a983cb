/** Writes down what is about to happen, before it does. After a crash, this is how we know. */

import { notice, type Message, type UserMessage } from '../model/message.ts'
import type { Said, View } from '../model/ports.ts'
import type { Step } from '../model/step.ts'
import { type Commit, mapCalls, modelCall, spend, type Turn } from '../model/turn.ts'
import { halt } from '../policy/allowance.ts'
import { summaryOf } from '../policy/budget.ts'
import { done } from '../policy/ending.ts'
import { released } from '../policy/pending-requests.ts'
import { cutShort, usableRoute } from '../policy/remedies.ts'
import { refuse } from '../policy/plan.ts'

export function enter(before: Turn, step: Exclude<Step, { do: 'rest' }>, view: View): Commit {
  const turn = released(cutShort(halt(before, step), view.now), view.now)
  switch (step.do) {
    case 'call-model': {
      const { say: _said, ...rest } = spend(turn, modelCall)
      const stage = {
        at: 'calling-model',
        since: view.now,
        tools: step.tools,
        ...(step.say !== undefined && { say: step.say }),
      } as const
      return { turn: { ...rest, route: usableRoute(turn, view), stage }, ...hear(view) }
    }

    case 'run-tools': {
      const starting = new Set(step.calls.map((call) => call.id))
      return {
        turn: mapCalls(turn, (call) =>
          starting.has(call.id) && call.state === 'planned' ? { ...call, state: 'running', since: view.now } : call,
        ),
      }
    }

    case 'compress': {
      if (turn.stage.at === 'compressing') return { turn }
      const { compress, ...rest } = turn
      return { turn: { ...spend(rest, 'compress'), stage: { at: 'compressing', since: view.now, ...compress } } }
    }

    case 'finish': {
      const open = turn.stage.at === 'tools' ? turn.stage.calls : []
      const results = open.map((call) =>
        call.state === 'settled' ? call.result : refuse(call, 'Not finished: the user stopped the turn.'),
      )
      const words = step.outcome === 'out-of-budget' ? summaryOf(turn) : notice('Stopped before there was an answer.')
      // Someone said more after the answer and then stopped: the answer stands.
      const isAnswered = !results.length && view.lastRole === 'assistant'
      return { turn: done(turn, step.outcome, view.now), append: isAnswered ? [] : [...results, words] }
    }
  }
}

/** What people said meanwhile joins the transcript; never as a second user message in a row. */
function hear({ inbox, lastRole }: View): Pick<Commit, 'append' | 'drain'> {
  const heard = inbox.filter(({ mode }) => mode === 'redirect' || lastRole !== 'user')
  if (!heard.length) return {}
  const before: Message[] = lastRole === 'user' ? [notice('Not answered: the user said more first.')] : []
  return { append: [...before, together(heard)], drain: heard.map(({ id }) => id) }
}

/** Several things said are one message. */
export const together = (heard: readonly Said[]): UserMessage => ({
  role: 'user',
  content: heard.flatMap(({ message }) => message.content),
})
