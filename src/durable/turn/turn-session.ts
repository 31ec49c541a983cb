/**
 * The session as the rooms below `session/` see it: the turn, the chat and the events of a session work on these parts.
 * `Session` implements it; nothing in these rooms imports the class.
 */

import type { Marks } from '#agent/core/marks.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { SessionRecord } from '#agent/core/history.ts'
import type { PromptMaterial } from '#agent/core/prompt-layer.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Route } from '#agent/routing/route.ts'
import type { SideCall } from '#durable/models/side-call.ts'
import type { Journal } from '#durable/storage/journal.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import type { SessionStore } from '#durable/storage/store.ts'
import type { SessionBilling } from '#durable/tenant/billing/session-billing.ts'
import type { SessionTenant, TurnAccess } from '#durable/tenant/session-tenant.ts'
import type { TenantDO } from '#durable/tenant/tenant-object.ts'
import type { Driver } from './driver.ts'
import type { ToolRuntime } from './tool-runtime.ts'

export type TurnSession = {
  readonly tenantId: string
  readonly sessionId: string
  /** Of the session itself, for what it reports to the tenant's object. */
  readonly ownAuthority: Authority
  readonly exists: boolean
  readonly meta: SessionMetadata
  readonly updateMeta: (change: Partial<SessionMetadata>) => void
  readonly record: () => SessionRecord
  /** The effective settings: the session's over the tenant's. */
  readonly settings: Settings

  // --- its parts

  readonly sql: SqlStorage
  readonly journal: Journal
  /** A rebuilt session has another one: read it again after each wait. */
  readonly store: SessionStore
  readonly tenant: SessionTenant
  readonly tenantObject: () => DurableObjectStub<TenantDO>
  readonly ensureTenant: () => Promise<void>
  readonly billing: SessionBilling
  readonly toolRuntime: ToolRuntime
  /** While the tenant is suspended nothing begins and nothing is sent. */
  readonly access: TurnAccess & { readonly isPaused: boolean }
  readonly driver: Driver
  readonly side: SideCall
  readonly turns: { readonly resume: () => void }
  /** The turn that was open when the object woke. */
  readonly openAtWake: string | undefined

  // --- what its prompt is made of

  /** The tenant's material: at once when it adds nothing, or when it is cached. `isFresh`: asks the tenant. */
  readonly promptMaterial: (isFresh: boolean) => PromptMaterial | undefined | Promise<PromptMaterial | undefined>
  /** The model of a turn that names `model`, or none. Undefined when no model is set up. */
  readonly promptModel: (model: string | undefined) => Route | undefined
  /** Whether the workspace may have files that can be read without starting a host. */
  readonly hasReadableFiles: () => boolean
  /** Whether the session has memory. */
  readonly hasMemory: () => boolean
  /** For whom the open or last turn acts. */
  readonly asker: () => Authority
  /** The entries of the asker's profile, or of the memory of the session's project. */
  readonly storedMemory: (
    authority: Authority,
    target: 'user' | 'project',
  ) => Promise<{ readonly entries: readonly string[]; readonly marks: Marks }>
  /** Replaces secrets. */
  readonly redact: (text: string) => string

  // --- the object

  /** Runs work in the background; the platform keeps the object alive for it. */
  readonly runInBackground: (work: Promise<unknown>) => void
  /** Sets the alarm again after a part has changed its next wake time. */
  readonly arm: () => void
  /** Aborts the object, and with it all writes since the last await. */
  readonly resetObject: (reason: string) => void
}
