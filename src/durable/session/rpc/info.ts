/** RPC subject `info`: reads, creates, updates and deletes a session. */

import { RpcTarget } from 'cloudflare:workers'
import { actorOf } from '../../../agent/model/audit.ts'
import type { Authority } from '../../../agent/model/authority.ts'
import { patchSettings, type Settings, type SettingsFault } from '../../../agent/model/settings.ts'
import type { NewSession } from '../../storage/session-metadata.ts'
import type { TenantSnapshot } from '../../tenant/tenant-snapshot.ts'
import { sessionView, type SessionStatus, type SessionView } from '../api-views.ts'
import { statusOf } from '../read-session.ts'
import { tightenSettings } from '../../../agent/policy/settings/tighten-settings.ts'
import { expandToolsets } from '../../../tools/tools-for.ts'
import type { Session } from '../session.ts'
import type { SessionHost } from '../session-host.ts'

/** Settings that are older than the check of policy lose what the check would have refused. */
function checkedSettings({ meta, tenant }: Session): Settings {
  if (meta.isPolicyChecked) return meta.settings
  return tightenSettings(tenant.snapshot?.settings ?? {}, meta.settings, { expand: expandToolsets, mayDiffer: false })
}

export class InfoSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  get(authority: Authority): Promise<SessionView | undefined> {
    return this.#host.with(authority, (session) => sessionView(session.record(), statusOf(session)))
  }

  /** Does not read history, because lists call it for many sessions. */
  status(authority: Authority): SessionStatus {
    const { session } = this.#host
    return this.#host.isOwn(authority) && session.exists ? statusOf(session) : 'idle'
  }

  /** Creating a session that exists changes nothing. */
  async create(authority: Authority, spec: NewSession, tenant: TenantSnapshot): Promise<SessionView | undefined> {
    if (!this.#host.isOwn(authority)) return undefined
    const { session } = this.#host
    await session.tenant.update(tenant)
    session.create(spec)
    session.updateMeta({})
    return this.#host.view()
  }

  /** Absent fields are unchanged. `settings` is a patch: null resets a value. */
  update(
    authority: Authority,
    change: { title?: string | null; model?: string | null; settings?: object },
  ): Promise<{ kind: 'updated'; view: SessionView } | SettingsFault | undefined> {
    return this.#host.with(authority, async (session) => {
      await session.ensureTenant()
      const patched = change.settings && patchSettings(checkedSettings(session), change.settings)
      if (patched?.kind === 'wrong') return patched
      session.updateMeta({ ...change, ...(patched && { settings: patched.settings, isPolicyChecked: true }) })
      return { kind: 'updated', view: await this.#host.view() }
    })
  }

  /**
   * False when there is no such session. Can be repeated after a failure. `isRequested`: a client asked for it, so that
   * the audit log has it.
   */
  async delete(authority: Authority, isRequested = false): Promise<boolean> {
    return this.#host.isOwn(authority) && this.#host.delete(isRequested ? actorOf(authority) : undefined)
  }
}
