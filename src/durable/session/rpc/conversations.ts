/** RPC subject `conversations`: creates, reads and extends a session as a conversation of OpenAI's API. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Message } from '#agent/core/message.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import {
  appendMessages,
  conversationItems,
  type ConversationView,
  conversationView,
  deleteItem,
} from '../responses/conversation.ts'
import type { SessionHost } from '../session-host.ts'

export type ConversationLabels = Readonly<Record<string, string>>

export class ConversationsSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  create(
    authority: Authority,
    tenant: TenantSnapshot,
    content: { readonly labels: ConversationLabels; readonly messages: readonly Message[] },
  ): Promise<ConversationView | undefined> {
    return this.#host.asCaller(authority, async () => {
      if (!this.#host.isOwn(authority)) return undefined
      const { session, env } = this.#host
      const { labels, messages } = content
      await session.tenant.update(tenant)
      session.create({ source: 'api' })
      session.updateMeta({ labels })
      if (messages.length) await appendMessages(session, messages, env.BLOBS)
      await this.#host.view()
      return conversationView(session)
    })
  }

  get(authority: Authority): Promise<ConversationView | undefined> {
    return this.#host.with(authority, conversationView)
  }

  setLabels(authority: Authority, labels: ConversationLabels): Promise<ConversationView | undefined> {
    return this.#host.with(authority, (session) => {
      session.updateMeta({ labels })
      session.runInBackground(session.turns.project())
      return conversationView(session)
    })
  }

  /** The JSON of all items, oldest first. */
  items(authority: Authority): Promise<string | undefined> {
    return this.#host.with(authority, (session) => JSON.stringify(conversationItems(session)))
  }

  /** The JSON of the items of the added messages. Null while a turn is open. */
  append(authority: Authority, messages: readonly Message[]): Promise<string | null | undefined> {
    return this.#host.with(authority, async (session) => {
      const items = await appendMessages(session, messages, this.#host.env.BLOBS)
      return items ? JSON.stringify(items) : null
    })
  }

  deleteItem(authority: Authority, id: string): Promise<'deleted' | 'kept' | undefined> {
    return this.#host.with(authority, (session) => deleteItem(session, id))
  }
}
