/** RPC subject `pending`: accepts answers to pending questions and approvals. */

import { RpcTarget } from 'cloudflare:workers'
import type { ApprovalAnswer } from '#agent/core/permission/approval.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { tenantStub } from '#durable/tenant/tenant-stub.ts'
import { deliverAnswer, findPending, isQuestion, wasCalled } from '#durable/turn/pending-requests.ts'
import { type DecideResult, decideApproval } from '../approvals.ts'
import { type PressAnswer, pressButton } from '../press-button.ts'
import type { SessionHost } from '../session-host.ts'

export class PendingSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /** Answers a question. False when it does not wait any more, undefined when there never was such a question. */
  answer(authority: Authority, request: string, answer: string): Promise<boolean | undefined> {
    return this.#host.with(authority, async (session) => {
      await session.ensureTenant()
      const item = findPending(session, request)
      const isAnswered = item !== undefined && isQuestion(item)
      if (isAnswered) deliverAnswer(session, item, answer)
      await session.pendingList.tryPublish()
      return isAnswered || (wasCalled(session.journal, request) ? false : undefined)
    })
  }

  /** Decides an approval. Undefined also when there never was such a call. */
  decide(authority: Authority, request: string, answer: ApprovalAnswer): Promise<DecideResult | undefined> {
    return this.#host.with(authority, async (session) => {
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
