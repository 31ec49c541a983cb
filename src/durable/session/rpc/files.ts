/** RPC subject `files`: reads and changes the workspace of a session. */

import { RpcTarget } from 'cloudflare:workers'
import { type Authority, holderOf } from '#agent/core/permission/authority.ts'
import { type FileResult, type Precondition, workspaceFiles } from '../core/files.ts'
import { type DocumentResult, readDocument } from '../core/document-text.ts'
import { recordContribution } from '../core/contributions.ts'
import type { Session } from '../session.ts'
import type { SessionHost } from '../session-host.ts'
import { clock } from '#durable/platform/clock.ts'

const isChange = ({ kind }: FileResult): boolean => kind === 'written' || kind === 'moved' || kind === 'removed'

export class FilesSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /** The bytes of a file, or the entries of a directory. */
  read(authority: Authority, path: string, isRecursive?: boolean): Promise<FileResult | undefined> {
    return this.#host.with(authority, (session) => workspaceFiles(session).read(path, isRecursive))
  }

  /** The text of a document, or words that say why there is none. */
  readText(authority: Authority, path: string): Promise<FileResult | DocumentResult | undefined> {
    return this.#host.with(authority, (session) => readDocument(session, path))
  }

  write(
    authority: Authority,
    path: string,
    bytes: Uint8Array,
    precondition?: Precondition,
  ): Promise<FileResult | undefined> {
    return this.#change(authority, (session) => {
      recordContribution(session, authority, { isFile: true })
      return workspaceFiles(session, holderOf(authority)).write(path, bytes, precondition)
    })
  }

  move(authority: Authority, from: string, to: string): Promise<FileResult | undefined> {
    return this.#change(authority, (session) => {
      recordContribution(session, authority, { isFile: true })
      return workspaceFiles(session).move(from, to)
    })
  }

  delete(authority: Authority, path: string): Promise<FileResult | undefined> {
    return this.#change(authority, (session) => workspaceFiles(session).remove(path))
  }

  /** History learns of a change, because no turn tells it. */
  #change(authority: Authority, work: (session: Session) => Promise<FileResult>): Promise<FileResult | undefined> {
    return this.#host.with(authority, async (session) => {
      const result = await work(session)
      if (!isChange(result)) return result
      session.updateMeta({ filesChangedAt: clock.now() })
      session.runInBackground(session.turns.project())
      return result
    })
  }
}
