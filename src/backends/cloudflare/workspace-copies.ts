/**
 * Saves the workspace of a container and restores it. Only a prepared workspace is saved: an empty one of a new container
 * never replaces a good copy. Every operation has a time limit, and old copies are deleted.
 */

import { within } from './within.ts'
import type { CopyPort, WorkspaceCopy } from './container-host.ts'

export type CopyRecord = {
  readonly get: () => Promise<WorkspaceCopy | undefined>
  /** Undefined forgets the copy. */
  readonly put: (copy: WorkspaceCopy | undefined) => Promise<void>
}

export type CopyOptions = {
  readonly port: CopyPort | undefined
  readonly record: CopyRecord
  /** Identifies a prepared container. Undefined: the container is new, or cannot be reached. */
  readonly readBootId: () => Promise<string | undefined>
  readonly logError: (event: string, message: string, error: unknown) => void
  /** For tests. */
  readonly timeoutMs?: number
}

const defaultTimeoutMs = 5 * 60_000
const forgottenCodes: ReadonlySet<string> = new Set(['BACKUP_EXPIRED', 'BACKUP_NOT_FOUND'])

export class WorkspaceCopies {
  readonly #options: CopyOptions
  #saving: Promise<boolean> | undefined
  #isRemoved = false

  constructor(options: CopyOptions) {
    this.#options = options
  }

  /** Saves one copy at a time. False when nothing was saved: the previous copy stays. */
  save(): Promise<boolean> {
    return (this.#saving ??= this.#saveOnce().finally(() => (this.#saving = undefined)))
  }

  /** False when there is no copy to restore. One that has expired or is missing is forgotten. */
  async restore(): Promise<boolean> {
    const { port, record, logError } = this.#options
    const copy = await record.get()
    if (!port || !copy) return false
    try {
      await this.#bounded(port.restore(copy))
      return true
    } catch (error) {
      if (!forgottenCodes.has(codeOf(error))) throw error
      logError('workspace.copy_lost', 'The copy of a workspace has expired or is missing.', error)
      await record.put(undefined)
      await this.#remove(copy)
      return false
    }
  }

  /** Deletes the last copy, and one that is being made. */
  async removeAll(): Promise<void> {
    const { record } = this.#options
    this.#isRemoved = true
    const copy = await record.get()
    await record.put(undefined)
    if (copy) await this.#remove(copy)
  }

  async #saveOnce(): Promise<boolean> {
    const { port, record, logError, readBootId } = this.#options
    this.#isRemoved = false
    const bootId = await readBootId()
    if (!port || bootId === undefined) return false
    try {
      const copy = await this.#create(port)
      // The container may have been replaced meanwhile: then the copy is of an empty workspace.
      if (this.#isRemoved || (await readBootId()) !== bootId) {
        await this.#remove(copy)
        return false
      }
      const previous = await record.get()
      await record.put(copy)
      if (previous) await this.#remove(previous)
      return true
    } catch (error) {
      logError('workspace.unsaved', 'The workspace of a container could not be saved. The previous copy stays.', error)
      return false
    }
  }

  async #create(port: CopyPort): Promise<WorkspaceCopy> {
    const creating = port.create()
    try {
      return await this.#bounded(creating)
    } catch (error) {
      // A copy that is complete after its time limit is in no record.
      creating.then((copy) => this.#remove(copy)).catch(() => undefined)
      throw error
    }
  }

  async #bounded<T>(work: Promise<T>): Promise<T> {
    const { port, timeoutMs = defaultTimeoutMs } = this.#options
    try {
      return await within(work, timeoutMs, 'The copy of the workspace')
    } catch (error) {
      if (codeOf(error) === 'TIMEOUT') port?.abandon()
      throw error
    }
  }

  async #remove(copy: WorkspaceCopy): Promise<void> {
    await this.#options.port
      ?.remove(copy)
      .catch((error: unknown) =>
        this.#options.logError('workspace.copy_left', 'An old copy of a workspace could not be deleted.', error),
      )
  }
}

const codeOf = (error: unknown): string =>
  (error as { readonly errorResponse?: { readonly code?: string } }).errorResponse?.code ?? ''
