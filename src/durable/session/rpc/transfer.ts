/** RPC subject `transfer`: copies, exports and imports a session. */

import { mayOpen } from '../core/check-caller.ts'
import { RpcTarget } from 'cloudflare:workers'
import { type Authority, holderOf } from '#agent/core/permission/authority.ts'
import type { NewSession, Share } from '#durable/storage/session-metadata.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import type { SessionView } from '../views/api-views.ts'
import type { exportSession, ExportOptions, ImportedSession } from '../copies/export.ts'
import type { CheckpointCopy } from '../copies/checkpoint-copy.ts'
import { cancelCopy, type SessionCopy } from '../copies/fork.ts'
import { addShare, listShares, removeShare } from '../core/shares.ts'
import type { SessionHost } from '../session-host.ts'

export class TransferSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /**
   * Returns a copy for `paste`, up to a run if one is given, with the files of now or of then. The caller reads or cancels
   * its streams.
   */
  async copy(authority: Authority, upTo?: string, withEarlierFiles?: boolean): Promise<SessionCopy | undefined> {
    const { copySession } = await import('../copies/copy-session.ts')
    return this.#host.with(authority, (session) => copySession(session, upTo, withEarlierFiles))
  }

  /** Creates this session from the copy; the fields of `spec` have precedence. Repeating it changes nothing. */
  async paste(authority: Authority, copy: SessionCopy, spec: NewSession): Promise<SessionView | undefined> {
    return this.#host.asCaller(authority, async () => {
      if (!this.#host.isOwn(authority)) return void (await cancelCopy(copy))
      await this.#host.incomingCopy.receive(copy, { ...spec, owner: holderOf(authority) })
      return this.#host.view()
    })
  }

  /** Creates this session from a copy of it, with what a copy for another session leaves out. Repeating it changes nothing. */
  async restore(authority: Authority, copy: SessionCopy): Promise<true | undefined> {
    return this.#host.asCaller(authority, async () => {
      if (!this.#host.isOwn(authority)) return void (await cancelCopy(copy))
      await this.#host.incomingCopy.receive(copy, 'as-it-was')
      await this.#host.view()
      return true
    })
  }

  /** The checkpoints, which `copy` leaves out, for a backup. Undefined when there are no checkpoints. */
  async copyCheckpoints(authority: Authority): Promise<CheckpointCopy | undefined> {
    const copies = await import('../copies/checkpoint-copy.ts')
    return this.#host.with(authority, (session) =>
      copies.hasCheckpoints(session) ? copies.copyCheckpoints(session) : undefined,
    )
  }

  /** Returns false when the session has made checkpoints of its own. */
  async restoreCheckpoints(authority: Authority, lines: ReadableStream<Uint8Array>): Promise<boolean | undefined> {
    const copies = await import('../copies/checkpoint-copy.ts')
    return this.#host.with(authority, (session) => copies.restoreCheckpoints(session, lines))
  }

  async export(authority: Authority, options: ExportOptions): Promise<ReturnType<typeof exportSession> | undefined> {
    const transfer = await import('../copies/export.ts')
    return this.#host.with(authority, (session) => transfer.exportSession(session, options, this.#host.env.BLOBS))
  }

  /** The links under which everybody reads the conversation. */
  shares(authority: Authority): Promise<readonly Share[] | undefined> {
    return this.#host.with(authority, listShares)
  }

  share(
    authority: Authority,
    id: string,
    expiresAt: number | undefined,
  ): Promise<Share | 'empty' | 'full' | undefined> {
    return this.#host.with(authority, (session) => addShare(session, id, expiresAt))
  }

  unshare(authority: Authority, id: string): Promise<boolean | undefined> {
    return this.#host.with(authority, (session) => removeShare(session, id))
  }

  /** Returns the shared messages as a page. Null when there is no such share. */
  async readShared(authority: Authority, id: string): Promise<ReadableStream<Uint8Array> | null | undefined> {
    const transfer = await import('../copies/export.ts')
    return this.#host.with(authority, (session) => {
      const share = listShares(session).find((one) => one.id === id)
      if (!share) return null
      const options = { format: 'html', hasFiles: false, saidOnly: true, through: share.through } as const
      return transfer.exportSession(session, options, this.#host.env.BLOBS)
    })
  }

  /** `message`: the index of the first message that no row can hold; nothing is imported then. */
  async import(
    authority: Authority,
    given: ImportedSession,
    tenant: TenantSnapshot,
  ): Promise<{ kind: 'imported'; view: SessionView } | { kind: 'too-large'; message: number } | undefined> {
    const { importSession } = await import('../copies/export.ts')
    return this.#host.asCaller(authority, async () => {
      if (!this.#host.isOwn(authority)) return undefined
      const { session, env } = this.#host
      await session.tenant.update(tenant)
      if (session.exists && !mayOpen(session, authority)) return undefined
      const message = await importSession(session, given, { authority, blobs: env.BLOBS })
      return message === undefined
        ? { kind: 'imported', view: await this.#host.view() }
        : { kind: 'too-large', message }
    })
  }
}
