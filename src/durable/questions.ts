/** What calls of the open turn wait for a person to say. */

import { deliver } from '../agent/loop/intake.ts'
import type { Driver } from './driver.ts'
import type { Journal } from './journal.ts'
import type { SessionStore } from './store.ts'
import type { Waiting } from './tenant.ts'

/** One of several kinds of things that wait. */
export type Question = Extract<Waiting, { kind: 'question' }>
export type Approval = Extract<Waiting, { kind: 'approval' }>

export const isQuestion = (item: Waiting): item is Question => item.kind === 'question'
export const isApproval = (item: Waiting): item is Approval => item.kind === 'approval'

export type Asking = { readonly sessionId: string; readonly store: SessionStore }
type Moving = Asking & { readonly driver: Driver; readonly move: () => void }

/** The id names the session and the call, so that one request finds both. */
export function waitingItems({ sessionId, store }: Asking): readonly Waiting[] {
  const turn = store.current()
  const calls = turn?.stage.at === 'tools' ? turn.stage.calls : []
  return calls.flatMap((call) =>
    call.state === 'away'
      ? [{ ...call.awaits, id: `${sessionId}.${call.id}`, session_id: sessionId, run_id: turn?.id ?? '' }]
      : [],
  )
}

/** Whether a model ever made this call: what was never asked is unknown, and not merely over. */
export function wasCalled(journal: Journal, callId: string): boolean {
  for (const { entries } of journal.entriesBackwards())
    if (
      entries.some(
        ({ message }) =>
          message.role === 'assistant' && message.content.some((part) => part.type === 'call' && part.id === callId),
      )
    )
      return true
  return false
}

/** The answer becomes the result of the call, and the turn goes on. `requestId` is what a repeated request is known by. */
export function deliverAnswer(core: Moving, item: Question, answer: string, requestId?: string): void {
  const result = { question: item.question, choices_offered: item.choices, user_response: answer }
  const message = {
    role: 'tool' as const,
    callId: item.id.slice(core.sessionId.length + 1),
    name: 'clarify',
    content: [{ type: 'text' as const, text: JSON.stringify(result) }],
    failed: false,
  }
  const delivered = deliver(core.store.turn(), message, core.driver.look())
  core.store.save({ ...delivered, ...(requestId && { requestId }) })
  core.store.write()
  core.move()
}
