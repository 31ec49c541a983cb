/** RPC subject `checkpoints`: lists the states of the workspace, compares with them and restores them. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '#agent/core/permission/authority.ts'
import type {
  CheckpointDiff,
  CheckpointView,
  createNamed,
  DiffRequest,
  RollbackRequest,
  RollbackResult,
  Unreachable,
} from '../core/checkpoints.ts'
import type * as Core from '../core/checkpoints.ts'
import type { FileResult } from '../core/files.ts'
import type { Session } from '../session.ts'
import type { SessionHost } from '../session-host.ts'

export class CheckpointsSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  list(authority: Authority): Promise<readonly CheckpointView[] | Unreachable | undefined> {
    return this.#with(authority, ({ listCheckpoints }, session) => listCheckpoints(session))
  }

  create(
    authority: Authority,
    name: string,
  ): Promise<Awaited<ReturnType<typeof createNamed>> | Unreachable | undefined> {
    return this.#with(authority, (core, session) => core.createNamed(session, name))
  }

  /** The changes since a checkpoint. Null: there is no such checkpoint. */
  diff(authority: Authority, request: DiffRequest): Promise<CheckpointDiff | null | Unreachable | undefined> {
    return this.#with(authority, ({ diffSince }, session) => diffSince(session, request))
  }

  /** A file before a turn, which is named by its number or its run. Null: there is no such checkpoint. */
  read(
    authority: Authority,
    path: string,
    turn: number | string,
  ): Promise<FileResult | null | Unreachable | undefined> {
    return this.#with(authority, ({ readFileAt }, session) => readFileAt(session, path, turn))
  }

  rollback(authority: Authority, request: RollbackRequest): Promise<RollbackResult | Unreachable | undefined> {
    return this.#with(authority, (core, session) => core.rollback(session, this.#host.ctx.storage, request))
  }

  /** Loads the code with its first use. */
  #with<T>(
    authority: Authority,
    work: (core: typeof Core, session: Session) => Promise<T>,
  ): Promise<T | Unreachable | undefined> {
    return this.#host.with(authority, async (session) => {
      const core = await import('../core/checkpoints.ts')
      return core.orUnreachable(() => work(core, session))
    })
  }
}
