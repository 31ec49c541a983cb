/** Writes the intent of a step into the turn before the effect begins. After a crash, `resume` reads it. */

import { joinMarks } from '#agent/core/marks.ts'
import { errorResult, notice, type Message, type UserMessage } from '#agent/core/message.ts'
import { endPersonWait } from '#agent/core/person-wait.ts'
import type { InboxMessage, View } from '#agent/core/ports.ts'
import type { Step } from '#agent/core/step.ts'
import { type Commit, endTurn, mapCalls, modelCallUse, countUse, type Turn } from '#agent/core/turn.ts'
import { typedIn } from '#agent/untrusted/typed-text.ts'
import { onEnter } from './policies.ts'

export function enter(before: Turn, step: Exclude<Step, { do: 'rest' }>, view: View): Commit {
  const changed = onEnter.reduce((turn, policy) => policy(turn, step, view), before)
  const turn = endPersonWait(changed, view.now)
  switch (step.do) {
    case 'call-model': {
      const { nextInstruction: _instruction, ...rest } = countUse(turn, modelCallUse)
      const stage = {
        at: 'calling-model',
        since: view.now,
        tools: step.tools,
        ...(step.instruction !== undefined && { instruction: step.instruction }),
      } as const
      return { turn: { ...rest, stage }, ...drainInbox(view) }
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
      return { turn: { ...countUse(rest, 'compress'), stage: { at: 'compressing', since: view.now, ...compress } } }
    }

    case 'finish': {
      const open = turn.stage.at === 'tools' ? turn.stage.calls : []
      const results = open.map((call) =>
        call.state === 'settled' ? call.result : errorResult(call, 'Not finished: the user stopped the turn.'),
      )
      const last = step.notice ?? notice('Stopped before there was an answer.')
      // The user wrote more after the answer and then stopped the turn: the answer stands.
      const isAnswered = !results.length && view.lastRole === 'assistant'
      return { turn: endTurn(turn, step.outcome, view.now), append: isAnswered ? [] : [...results, last] }
    }
  }
}

/** Moves messages of the inbox to the transcript, never as a second user message in a row. */
function drainInbox({ inbox, lastRole }: View): Pick<Commit, 'append' | 'drain'> {
  const ready = inbox.filter(({ mode }) => mode === 'redirect' || lastRole !== 'user')
  if (!ready.length) return {}
  const before: Message[] = lastRole === 'user' ? [notice('Not answered: the user said more first.')] : []
  return { append: [...before, joinMessages(ready)], drain: ready.map(({ id }) => id) }
}

/** Joins messages that arrived during a turn into one user message, with a blank line between them. */
export const joinMessages = (messages: readonly InboxMessage[]): UserMessage => ({
  role: 'user',
  content: messages.flatMap(({ message }, at) =>
    at ? [{ type: 'text' as const, text: '\n\n' }, ...message.content] : message.content,
  ),
  ...(messages.some(({ message }) => message.marks) && {
    marks: joinMarks(...messages.map(({ message }) => message.marks)),
    typed: messages
      .map(({ message }) => typedIn(message))
      .filter(Boolean)
      .join('\n\n'),
  }),
})
