/** RPC subject `checkpoints`: lists the states of the workspace, compares with them and restores them. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '#agent/core/permission/authority.ts'
import {
  type CheckpointView,
  type CheckpointDiff,
  createNamed,
  type DiffRequest,
  diffSince,
  listCheckpoints,
  orUnreachable,
  readFileAt,
  type RollbackRequest,
  rollback,
  type RollbackResult,
  type Unreachable,
} from '../core/checkpoints.ts'
import type { FileResult } from '../core/files.ts'
import type { SessionHost } from '../session-host.ts'

export class CheckpointsSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  list(authority: Authority): Promise<readonly CheckpointView[] | Unreachable | undefined> {
    return this.#host.with(authority, (session) => orUnreachable(() => listCheckpoints(session)))
  }

  create(
    authority: Authority,
    name: string,
  ): Promise<Awaited<ReturnType<typeof createNamed>> | Unreachable | undefined> {
    return this.#host.with(authority, (session) => orUnreachable(() => createNamed(session, name)))
  }

  /** The changes since a checkpoint. Null: there is no such checkpoint. */
  diff(authority: Authority, request: DiffRequest): Promise<CheckpointDiff | null | Unreachable | undefined> {
    return this.#host.with(authority, (session) => orUnreachable(() => diffSince(session, request)))
  }

  /** A file before a turn, which is named by its number or its run. Null: there is no such checkpoint. */
  read(
    authority: Authority,
    path: string,
    turn: number | string,
  ): Promise<FileResult | null | Unreachable | undefined> {
    return this.#host.with(authority, (session) => orUnreachable(() => readFileAt(session, path, turn)))
  }

  rollback(authority: Authority, request: RollbackRequest): Promise<RollbackResult | Unreachable | undefined> {
    return this.#host.with(authority, (session) =>
      orUnreachable(() => rollback(session, this.#host.ctx.storage, request)),
    )
  }
}
