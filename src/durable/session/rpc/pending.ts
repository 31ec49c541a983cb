/** RPC subject `pending`: accepts answers to pending questions and approvals. */

import { RpcTarget } from 'cloudflare:workers'
import type { ApprovalAnswer } from '#agent/core/permission/approval.ts'
import { type Authority, holderOf } from '#agent/core/permission/authority.ts'
import type { ElicitationAnswer } from '#agent/core/pending-request.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import {
  continueWaitingCall,
  deliverAnswer,
  findPending,
  isQuestion,
  wasCalled,
} from '#durable/turn/pending-requests.ts'
import { decideApproval, type DecideResult } from '../core/approvals.ts'
import type { SessionHost } from '../session-host.ts'
import type { OutboxRow } from '#durable/channels/outbox.ts'
import { parseButtonData } from '#durable/channels/pending-request-message.ts'
import type { Session } from '../session.ts'

export class PendingSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /**
   * Answers a question. False when it does not wait any more, undefined when there never was such a question, a text
   * when the answer does not fit it.
   */
  answer(
    authority: Authority,
    request: string,
    answer: string | ElicitationAnswer,
  ): Promise<boolean | string | undefined> {
    return this.#host.with(authority, async (session) => {
      await session.ensureTenant()
      const outcome = await answerQuestion(session, { authority, request, answer })
      await session.pendingList.tryPublish()
      return outcome || (wasCalled(session.journal, request) ? false : undefined)
    })
  }

  /** Whether the one who asks has begun or contributed to the run that makes the call. */
  async isAskedBy(authority: Authority, request: string): Promise<boolean> {
    const isAsker = await this.#host.withAny(authority, async (session) => {
      const asker = findPending(session, request) && session.store.current()?.options.authority
      return asker !== undefined && (asker.isShared === true || holderOf(asker) === holderOf(authority))
    })
    return isAsker === true
  }

  /** Decides an approval. Undefined also when there never was such a call. */
  decide(authority: Authority, request: string, answer: ApprovalAnswer): Promise<DecideResult | undefined> {
    return this.#host.withAny(authority, async (session) => {
      await session.ensureTenant()
      const tenant = tenantStub(this.#host.env, session.tenantId)
      const decided = await decideApproval(session, { authority, tenant }, request, answer)
      await session.pendingList.tryPublish()
      return decided === 'gone' && !wasCalled(session.journal, request) ? undefined : decided
    })
  }

  /** Applies the press of a button in a chat. */
  press(authority: Authority, data: string): Promise<PressAnswer | undefined> {
    const effects = {
      answer: (request: string, text: string) => this.answer(authority, request, text),
      decide: (request: string, answer: ApprovalAnswer) => this.decide(authority, request, answer),
    }
    return this.#host.with(authority, (session) => pressButton(session, { authority, data }, effects))
  }
}

type GivenAnswer = {
  readonly authority: Authority
  readonly request: string
  readonly answer: string | ElicitationAnswer
}

async function answerQuestion(session: Session, { authority, request, answer }: GivenAnswer) {
  const item = findPending(session, request)
  if (item === undefined || !isQuestion(item)) return false
  if (!item.elicitation) {
    if (typeof answer !== 'string') return 'Give the answer: no server asks this.'
    deliverAnswer(session, item, answer, authority)
    return true
  }
  const { readElicitationAnswer } = await import('#agent/mcp/elicitation.ts')
  const read = readElicitationAnswer(item.elicitation, typeof answer === 'string' ? { text: answer } : answer)
  if ('error' in read) return read.error
  // Another answer may have arrived during the wait.
  if (!findPending(session, request)) return false
  continueWaitingCall(session, item.call_id, { by: authority, given: read.answer })
  return true
}

type Press = { readonly authority: Authority; readonly data: string }

/** The text shown to the person who pressed, the new text of the message, if it changes, and a command that was chosen. */
type PressAnswer = { readonly toast: string; readonly ends?: string; readonly command?: string }

type PressEffects = {
  readonly answer: (request: string, answer: string) => Promise<boolean | string | undefined>
  readonly decide: (request: string, answer: ApprovalAnswer) => Promise<string | undefined>
}

const expired: PressAnswer = { toast: 'Expired: this is not waiting for an answer any more.' }

/** Only the person who asked, or an admin, may answer. A late or second press is answered "expired". */
async function pressButton(session: Session, press: Press, effects: PressEffects): Promise<PressAnswer> {
  const button = findButton(session, press.data)
  if (!button) return expired
  const { asks, text, choice } = button
  if (asks.draft !== undefined)
    return (await import('#durable/channels/decide-draft.ts')).decideDraft(session, press.authority, button)
  if (!asks.request) return pickCommand(press.authority, button)
  if (!mayAnswer(press.authority, asks.person)) return { toast: 'Only who asked, or an admin, may answer this.' }
  const pending = findPending(session, asks.request)
  if (!pending) return expired
  const outcome = isQuestion(pending)
    ? await effects.answer(asks.request, choice)
    : await effects.decide(asks.request, { decision: choice as ApprovalAnswer['decision'] })
  if (outcome === 'role') return { toast: 'Your role does not allow calls like this. You may deny it.' }
  if (outcome === 'policy') return { toast: 'Only an admin may allow this always.' }
  return outcome === true || outcome === 'decided'
    ? { toast: `Taken: ${choice}`.slice(0, 190), ...(asks.card === undefined && { ends: `${text}\n\n→ ${choice}` }) }
    : expired
}

/** The gateway submits the command as if the person had written it. */
const pickCommand = ({ principal }: Authority, { asks, text, choice }: PressedButton): PressAnswer =>
  principal.kind === 'person' && principal.person === asks.person
    ? { toast: choice.slice(0, 190), ends: `${text}\n\n→ ${choice}`, command: choice }
    : { toast: 'Only who asked may choose here.' }

const mayAnswer = ({ principal }: Authority, asker: string | undefined): boolean =>
  principal.kind === 'person' && (principal.isAdmin || principal.person === asker)

/** The outbox row that shows the button, and the choice that the button stands for. */
type PressedButton = {
  readonly row: OutboxRow
  readonly asks: NonNullable<OutboxRow['asks']>
  readonly text: string
  readonly choice: string
}

function findButton(session: Session, data: string): PressedButton | undefined {
  const pressed = parseButtonData(data)
  const row = pressed && session.chatOutbox.outbox.get(pressed.row)
  const choice = row?.asks?.choices[pressed?.choice ?? -1]
  return row?.asks && choice !== undefined ? { row, asks: row.asks, text: row.chunk.text, choice } : undefined
}
