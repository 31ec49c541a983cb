/** What calls of the open turn wait for a person to say. */

import { deliver } from '../../agent/loop/intake.ts'
import type { Driver } from './driver.ts'
import { askedId, stepped } from '../storage/event-log.ts'
import type { Journal } from '../storage/journal.ts'
import type { SessionStore } from '../storage/store.ts'
import type { Waiting } from '../tenant/tenant-object.ts'

/** One of several kinds of things that wait. */
export type Question = Extract<Waiting, { kind: 'question' }>
export type Approval = Extract<Waiting, { kind: 'approval' }>

export const isQuestion = (item: Waiting): item is Question => item.kind === 'question'
export const isApproval = (item: Waiting): item is Approval => item.kind === 'approval'

export type Asking = { readonly sessionId: string; readonly store: SessionStore }
type Moving = Asking & { readonly driver: Driver; readonly move: () => void }

/** The id names the session too, so that one request finds both. */
export function waitingItems({ sessionId, store }: Asking): readonly Waiting[] {
  const turn = store.current()
  if (turn?.stage.at !== 'tools') return []
  const step = store.lastMessageSeq()
  return turn.stage.calls.flatMap((call) => {
    if (call.state !== 'away') return []
    const id = askedId(sessionId, turn.id, stepped(step, call.id))
    return [{ ...call.awaits, id, session_id: sessionId, run_id: turn.id, call_id: call.id }]
  })
}

/** What waits under the id that its session gave it, without the session's own. */
export const waitingFor = (core: Asking, request: string): Waiting | undefined =>
  waitingItems(core).find(({ id }) => id === `${core.sessionId}.${request}`)

/** Whether a model ever made the call that this names: what was never asked is unknown, and not merely over. */
export function wasCalled(journal: Journal, request: string): boolean {
  const [, run, step, callId] = /^([^.]+)\.(\d+)\.(.*)$/s.exec(request) ?? []
  if (run === undefined) return false
  const [row] = journal.entriesBackwards(Number(step) + 1)
  const reply = row?.entries.find(({ seq }) => seq === Number(step))
  const calls = reply?.message.role === 'assistant' ? reply.message.content : []
  return reply?.runId === run && calls.some((part) => part.type === 'call' && part.id === callId)
}

/** The answer becomes the result of the call, and the turn goes on. `requestId` is what a repeated request is known by. */
export function deliverAnswer(core: Moving, item: Question, answer: string, requestId?: string): void {
  const result = { question: item.question, choices_offered: item.choices, user_response: answer }
  const message = {
    role: 'tool' as const,
    callId: item.call_id,
    name: 'clarify',
    content: [{ type: 'text' as const, text: JSON.stringify(result) }],
    failed: false,
  }
  const delivered = deliver(core.store.turn(), message, core.driver.look())
  core.store.save({ ...delivered, ...(requestId && { requestId }) })
  core.store.write()
  core.move()
}
