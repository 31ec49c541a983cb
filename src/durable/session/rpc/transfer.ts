/** RPC subject `transfer`: copies, exports and imports a session. */

import { RpcTarget } from 'cloudflare:workers'
import type { ExportFormat } from '../../../agent/public-api/export.ts'
import type { NewSession } from '../../storage/session-metadata.ts'
import type { TenantSnapshot } from '../../tenant/tenant-snapshot.ts'
import type { SessionView } from '../api-views.ts'
import { exportSession, type ImportedSession, importSession } from '../export.ts'
import { copySession, type SessionCopy } from '../fork.ts'
import type { SessionHost } from '../session-host.ts'

export class TransferSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /** The copy that `paste` takes, up to a run when one is named. The caller reads or cancels its streams. */
  copy(upTo?: string): Promise<SessionCopy | undefined> {
    return this.#host.with((session) => copySession(session, upTo))
  }

  /** Turns this session into the copy, with `spec` over it. Repeating it after it is complete changes nothing. */
  async paste(copy: SessionCopy, spec: NewSession): Promise<SessionView> {
    await this.#host.incomingCopy.receive(copy, spec)
    return this.#host.view()
  }

  export(format: ExportFormat): Promise<ReturnType<typeof exportSession> | undefined> {
    return this.#host.with((session) => exportSession(session, format, this.#host.env.BLOBS))
  }

  /** `message`: the index of the first message that no row can hold; nothing is imported then. */
  async import(
    given: ImportedSession,
    tenant: TenantSnapshot,
  ): Promise<{ is: 'imported'; view: SessionView } | { is: 'too-large'; message: number }> {
    const { session, env } = this.#host
    await session.tenant.update(tenant)
    const message = await importSession(session, given, env.BLOBS)
    return message === undefined ? { is: 'imported', view: await this.#host.view() } : { is: 'too-large', message }
  }
}
