/** RPC subject `files`: reads and changes the workspace of a session. */

import { RpcTarget } from 'cloudflare:workers'
import { type FileAnswer, workspace } from '../files.ts'
import type { SessionHost } from '../session-host.ts'

export class FilesSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /** The bytes of a file, or the entries of a directory. */
  read(path: string): Promise<FileAnswer | undefined> {
    return this.#host.with((session) => workspace(session).read(path))
  }

  write(path: string, bytes: Uint8Array): Promise<FileAnswer | undefined> {
    return this.#host.with((session) => workspace(session).write(path, bytes))
  }

  delete(path: string): Promise<FileAnswer | undefined> {
    return this.#host.with((session) => workspace(session).remove(path))
  }
}
