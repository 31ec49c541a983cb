/** RPC subject `checkpoints`: lists the states of the workspace, compares with them and restores them. */

import { RpcTarget } from 'cloudflare:workers'
import {
  type CheckpointView,
  type Difference,
  differenceSince,
  listCheckpoints,
  reachable,
  type Rollback,
  rollback,
  type RollbackAnswer,
  type Unreachable,
} from '../checkpoints.ts'
import type { SessionHost } from '../session-host.ts'

export class CheckpointsSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  list(): Promise<readonly CheckpointView[] | Unreachable | undefined> {
    return this.#host.with((session) => reachable(() => listCheckpoints(session)))
  }

  /** The changes since checkpoint `n`; 1 is the newest. Null: there is no such checkpoint. */
  diff(n: number): Promise<Difference | null | Unreachable | undefined> {
    return this.#host.with((session) => reachable(() => differenceSince(session, n)))
  }

  rollback(wish: Rollback): Promise<RollbackAnswer | Unreachable | undefined> {
    return this.#host.with((session) => reachable(() => rollback(session, this.#host.ctx.storage, wish)))
  }
}
