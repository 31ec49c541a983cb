/** RPC subject `inbound`: accepts events of messaging platforms. */

import { RpcTarget } from 'cloudflare:workers'
import type { SendOutcome } from '#agent/core/delivery.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { InboundSubmission } from '../intake/inbound.ts'
import type { Submitted } from '../intake/intake.ts'
import type { WebhookSubmission } from '../intake/webhook.ts'
import { releaseHeld } from '../release-held.ts'
import { canHold } from '../intake/hold-message.ts'
import { isForTenant } from '../core/check-caller.ts'
import { submit } from '../submit.ts'
import type { SessionHost } from '../session-host.ts'

export class InboundSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /** Records that a message of ours did not arrive, as the platform reports later. */
  reportUndelivered(
    authority: Authority,
    { messageId, outcome }: { readonly messageId: string; readonly outcome: SendOutcome },
  ): Promise<void> {
    return this.#host
      .with(authority, ({ chatOutbox }) => chatOutbox.reportUndelivered(messageId, outcome))
      .then(() => undefined)
  }

  /** Begins the turn of a webhook's delivery. Undefined only while the session is being deleted. */
  submitWebhook(command: WebhookSubmission): Promise<Submitted | undefined> {
    return submit(this.#host.session, command)
  }

  /** Creates the session when there is none. Undefined only while it is being deleted. */
  async submit(command: InboundSubmission): Promise<Submitted | undefined> {
    const { session } = this.#host
    const isOwn = session.exists && isForTenant(session, command.authority)
    // Held messages are released first: all keep their order.
    if (isOwn && !canHold(session, command)) await releaseHeld(session)
    const outcome = await submit(session, command)
    if (outcome && command.media && !this.#isHeld(command.key))
      session.runInBackground(session.chatOutbox.media.discard(command.media))
    return outcome
  }

  #isHeld(key: string): boolean {
    return this.#host.session.chatOutbox.inboundEvents.held().some((one) => one.key === key)
  }
}
