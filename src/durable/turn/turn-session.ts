/** The parts of a session that driving a turn needs. `Session` provides them; nothing in this room imports it. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { SideCall } from '#durable/models/side-call.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import type { SessionStore } from '#durable/storage/store.ts'
import type { SessionTenant, TurnAccess } from '#durable/tenant/session-tenant.ts'
import type { SessionBilling } from '#durable/tenant/billing/session-billing.ts'
import type { Driver } from './driver.ts'
import type { ToolRuntime } from './tool-runtime.ts'

export type TurnSession = {
  readonly tenantId: string
  readonly sessionId: string
  /** Of the session itself, for what it reports to the tenant's object. */
  readonly ownAuthority: Authority
  readonly exists: boolean
  readonly meta: SessionMetadata
  /** The effective settings: the session's over the tenant's. */
  readonly settings: Settings
  /** A rebuilt session has another one: read it again after each wait. */
  readonly store: SessionStore
  readonly tenant: SessionTenant
  readonly billing: SessionBilling
  readonly toolRuntime: ToolRuntime
  readonly access: TurnAccess
  readonly driver: Driver
  readonly side: SideCall
  /** Runs work in the background; the platform keeps the object alive for it. */
  readonly runInBackground: (work: Promise<unknown>) => void
}
