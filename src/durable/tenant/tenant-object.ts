/**
 * The object of one tenant. It only wires its parts: each part is one file with its tables and methods, and callers
 * reach it through a getter: `tenantStub(env, id).claims.claim(…)` is one call (docs/design/tenant.md).
 */

import { DurableObject } from 'cloudflare:workers'
import { actorOf, listChanges } from '../../agent/model/audit.ts'
import { ownerTenant } from '../../db/schema.ts'
import { clock } from '../platform/clock.ts'
import { redactLogs } from '../platform/log-redaction.ts'
import { TenantAccess } from './access.ts'
import { type ScheduledParts, TenantAlarm } from './alarm.ts'
import { TenantAudit } from './audit.ts'
import { TenantBilling } from './billing.ts'
import { TenantClaims } from './claims.ts'
import { TenantCredentials } from './credentials.ts'
import { TenantDataKeys } from './data-keys.ts'
import { TenantDeletions } from './deletions.ts'
import { effectiveLimits } from './effective-limits.ts'
import { TenantKeyHealth } from './key-health.ts'
import { TenantLimits } from './limits.ts'
import { TenantNetwork } from './network.ts'
import { createChangeCheck } from './own-tenant.ts'
import { TenantPairing } from './pairing.ts'
import { TenantPending } from './pending.ts'
import { TenantSecrets } from './secrets.ts'
import { type SettingsChange, TenantSettings } from './settings.ts'
import { StoredValues } from './stored-values.ts'
import type { TenantSnapshot } from './tenant-snapshot.ts'
import { SharedStorage } from './shared-storage.ts'
import { TenantWindows } from './windows.ts'

export class TenantDO extends DurableObject<Env> {
  readonly #id = (this.ctx.id.name ?? '').slice('t/'.length)
  readonly #mayChange = createChangeCheck(this.#id)
  readonly #sql = this.ctx.storage.sql
  readonly #values = new StoredValues(this.#sql)
  readonly #audit = new TenantAudit({
    tenantId: this.#id,
    sql: this.#sql,
    database: this.env.DB,
    armAlarm: () => this.armAlarm(),
  })
  readonly #billing = new TenantBilling({
    tenantId: this.#id,
    sql: this.#sql,
    values: this.#values,
    history: this.env.DB,
  })
  readonly #shared = new SharedStorage({
    tenantId: this.#id,
    values: this.#values,
    env: this.env,
    limits: () => effectiveLimits(this.#values),
    armAlarm: () => this.armAlarm(),
  })
  readonly #limits = new TenantLimits({
    mayChange: this.#mayChange,
    sql: this.#sql,
    values: this.#values,
    billing: this.#billing,
    shared: this.#shared,
  })
  readonly #settings = new TenantSettings(this.#mayChange, this.#values, (change) => this.#settingsChanged(change))
  readonly #claims = new TenantClaims(this.#sql, this.#values)
  readonly #keyHealth = new TenantKeyHealth(this.#values)
  readonly #credentials = new TenantCredentials(this.#mayChange, this.#values, this.#keyHealth, this.#audit)
  readonly #secrets = new TenantSecrets(this.#mayChange, this.#values, this.#audit)
  readonly #dataKeys = new TenantDataKeys(this.#values)
  readonly #windows = new TenantWindows(this.#values)
  readonly #pending = new TenantPending(this.#sql)
  readonly #pairing = new TenantPairing(this.#mayChange, this.#sql, this.#audit)
  readonly #network = new TenantNetwork(this.#sql)
  readonly #access = new TenantAccess({
    mayChange: this.#mayChange,
    sql: this.#sql,
    values: this.#values,
    announce: (sessionId, access) => this.env.SESSION.getByName(`t/${this.#id}/s/${sessionId}`).access.change(access),
    armAlarm: () => this.armAlarm(),
  })
  readonly #alarm = new TenantAlarm(this.ctx.storage, () => ({
    access: this.#access,
    sharedStorage: this.#shared,
    audit: this.#audit,
    ...(this.#id === ownerTenant && { deletions: this.#deletions }),
    ...(this.#access.get().status === 'active' && this.scheduledParts),
  }))

  /** Only the owner's tenant has this work, because its object is never deleted. */
  readonly #deletions = new TenantDeletions({ sql: this.#sql, env: this.env, armAlarm: () => this.armAlarm() })

  get deletions(): TenantDeletions {
    return this.#deletions
  }

  get audit(): TenantAudit {
    return this.#audit
  }

  get access(): TenantAccess {
    return this.#access
  }

  get settings(): TenantSettings {
    return this.#settings
  }

  get limits(): TenantLimits {
    return this.#limits
  }

  get billing(): TenantBilling {
    return this.#billing
  }

  get claims(): TenantClaims {
    return this.#claims
  }

  get keyHealth(): TenantKeyHealth {
    return this.#keyHealth
  }

  get credentials(): TenantCredentials {
    return this.#credentials
  }

  get secrets(): TenantSecrets {
    return this.#secrets
  }

  get dataKeys(): TenantDataKeys {
    return this.#dataKeys
  }

  get windows(): TenantWindows {
    return this.#windows
  }

  get pending(): TenantPending {
    return this.#pending
  }

  get network(): TenantNetwork {
    return this.#network
  }

  get pairing(): TenantPairing {
    return this.#pairing
  }

  /** Everything that a request or a turn needs from the tenant, in one call. */
  snapshot(): TenantSnapshot {
    const credentials = this.#credentials.sealed()
    const secrets = this.#secrets.sealed()
    return {
      id: this.#id,
      settings: this.#settings.get(),
      keys: this.#keyHealth.list(),
      windows: this.#windows.list(),
      limits: this.#limits.get(),
      access: this.#access.get(),
      ...(credentials && { credentials }),
      ...(secrets && { secrets }),
    }
  }

  /** Deletes everything that is stored here, and then this instance. */
  async erase(): Promise<void> {
    await this.ctx.storage.deleteAlarm()
    await this.ctx.storage.deleteAll()
    this.ctx.waitUntil(clock.wait(10).then(() => this.ctx.abort('The tenant was deleted.')))
  }

  #settingsChanged({ authority, before, after }: SettingsChange): void {
    this.#billing.limitsChanged()
    const changes = listChanges(before, after)
    const event = { at: clock.now(), kind: 'settings.changed', actor: actorOf(authority) } as const
    if (changes.length) this.#audit.add({ ...event, subject: this.#id, changes })
  }

  override alarm(): Promise<void> {
    redactLogs(this.env)
    return this.#alarm.run()
  }

  /** Parts that have work to do at a time of their own, while the tenant is active. There is none yet. */
  protected get scheduledParts(): ScheduledParts {
    return {}
  }

  /** Sets the alarm anew. Scheduled parts get it as a callback for changes of their times. */
  protected armAlarm(): void {
    this.#alarm.arm()
  }
}
