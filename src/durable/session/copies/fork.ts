/** Receives the copy of a session with its files. The copy is independent from then on. */

import { log } from '#agent/core/log.ts'
import type { Session } from '../session.ts'
import type { NewSession, SessionMetadata } from '#durable/storage/session-metadata.ts'
import { leaseMs } from '#durable/platform/schedule.ts'
import { clock } from '#durable/platform/clock.ts'

/** `owner`: who has made the fork, as `holderOf` names it. */
export type ForkSpec = NewSession & { readonly owner: string }

/** Conversation and files are streams: they may not fit into one RPC message, nor into memory. */
export type SessionCopy = {
  readonly meta: SessionMetadata
  /** One row per line, as JSON. */
  readonly rows: ReadableStream<Uint8Array>
  /** A tar archive of the workspace. */
  readonly files: ReadableStream<Uint8Array>
  /** The approximate size of the copy in the tenant's storage. */
  readonly bytes: number
}

export type IncomingCopyOptions = {
  readonly session: () => Session
  readonly storage: DurableObjectStorage
  readonly blobs: R2Bucket | undefined
  /** Replaces the session in memory. Called when the storage was emptied. */
  readonly forgetMemory: () => void
}

/** Receives a copy into an empty session: one at a time, and completely or not at all. */
export class IncomingCopy {
  readonly #options: IncomingCopyOptions
  #receiving: Promise<void> | undefined
  #discarding: Promise<void> | undefined

  constructor(options: IncomingCopyOptions) {
    this.#options = options
  }

  /** A repeated call waits for the first one. */
  async receive(copy: SessionCopy, spec: ForkSpec | 'as-it-was'): Promise<void> {
    const { exists } = this.#options.session()
    const isRepeat = exists || this.#receiving !== undefined
    if (!exists) this.#receiving ??= this.#receive(copy, spec).finally(() => (this.#receiving = undefined))
    if (isRepeat) await cancelCopy(copy)
    await this.#receiving
  }

  /** Handles the alarm of a session that does not exist: deletes an incomplete copy after a crash. */
  async handleAlarm(): Promise<void> {
    if (this.#receiving) return
    if (!this.#isIncomplete) return this.#options.storage.deleteAlarm()
    if (!(await this.#tryDiscard())) await this.#options.storage.setAlarm(clock.now() + discardRetryMs)
  }

  get #isIncomplete(): boolean {
    return this.#options.session().journal.metadata()?.arriving === true
  }

  async #receive(copy: SessionCopy, spec: ForkSpec | 'as-it-was'): Promise<void> {
    const { session, storage, blobs } = this.#options
    if (this.#isIncomplete) await this.#discard()
    await storage.setAlarm(clock.now() + leaseMs)
    try {
      const { receiveCopy } = await import('./copy-session.ts')
      await receiveCopy(session(), copy, spec, blobs)
    } catch (error) {
      await cancelCopy(copy)
      await this.#tryDiscard()
      throw error
    }
  }

  /** Returns false when a part cannot be reached: the alarm tries again. */
  async #tryDiscard(): Promise<boolean> {
    try {
      await this.#discard()
      return true
    } catch (error) {
      log.warn('session.copy_undeleted', 'An incomplete copy cannot be deleted now; the alarm tries again.', { error })
      return false
    }
  }

  /** Concurrent callers share one deletion: a new copy may be received right after it. */
  #discard(): Promise<void> {
    return (this.#discarding ??= this.#removeAll().finally(() => (this.#discarding = undefined)))
  }

  async #removeAll(): Promise<void> {
    const { session, storage, forgetMemory } = this.#options
    await session().toolRuntime.removeFiles()
    await storage.deleteAlarm()
    await storage.deleteAll()
    forgetMemory()
  }
}

/** The pause before the files on an unreachable host are deleted again. */
const discardRetryMs = 10 * 60_000

/** Cancels the streams of a copy that is not read. */
export async function cancelCopy({ rows, files }: Pick<SessionCopy, 'rows' | 'files'>): Promise<void> {
  // A stream that is being read or has failed cannot be cancelled and need not be.
  await Promise.allSettled([rows.cancel(), files.cancel()])
}
