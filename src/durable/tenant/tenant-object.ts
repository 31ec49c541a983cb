/**
 * The object of one tenant. It only wires its parts: each part is one file with its tables and methods, and callers
 * reach it through a getter: `tenantStub(env, id).claims.claim(…)` is one call (docs/design/tenant.md).
 */

import { historyDb } from '#db/shards/sharded-database.ts'
import { DurableObject } from 'cloudflare:workers'
import { listChanges } from '#agent/core/permission/audit.ts'
import { type Authority, systemAuthority } from '#agent/core/permission/authority.ts'
import { ownerTenant } from '#db/schema.ts'
import { armFailpoints } from '#durable/platform/failpoint.ts'
import { inJurisdiction } from '#durable/platform/jurisdiction.ts'
import { withLogContext } from '#durable/platform/log-context.ts'
import { redactLogs } from '#durable/platform/log-redaction.ts'
import { refuseNewerSchema } from '#durable/platform/schema-version.ts'
import { TenantAccess } from './access.ts'
import type { ScheduledParts } from '#durable/platform/part-schedule.ts'
import { TenantAlarm } from './alarm.ts'
import type { AppMethod } from './apps/app-row.ts'
import type { AppRows } from './apps/app-rows.ts'
import { TenantAudit } from './audit.ts'
import { TenantBackup } from './backup.ts'
import { TenantBatches } from './batches/batches.ts'
import { TenantBilling } from './billing/billing.ts'
import { TenantChats } from './channels/chats.ts'
import { TenantHooks } from './channels/hooks.ts'
import { TenantClaims } from './claims.ts'
import { TenantConversations } from './conversations.ts'
import { TenantCredentials } from './secrets/credentials.ts'
import { TenantDataKeys } from './secrets/data-keys.ts'
import { erasedMessage, TenantDeletions } from './deletions.ts'
import { effectiveLimits } from './effective-limits.ts'
import { TenantImageDescriptions } from './image-descriptions.ts'
import { EventRelay } from './events/event-relay.ts'
import { EventRelays } from './events/event-relays.ts'
import { TenantEvents } from './events/tenant-events.ts'
import { maxEventSockets, TenantSockets } from './events/tenant-sockets.ts'
import type { FixMethod } from './fixes/fixes.ts'
import type { StoredFixes } from './fixes/stored-fixes.ts'
import { createTenantJobs } from './jobs/create-jobs.ts'
import type { TenantJobs } from './jobs/jobs.ts'
import { TenantKeyHealth } from './secrets/key-health.ts'
import { TenantLimits } from './limits.ts'
import { TenantNetwork } from './network.ts'
import { TenantBrowsers } from './browsers.ts'
import { TenantMcp } from './mcp/tenant-mcp.ts'
import type { MemoryMethod } from './memory/memory.ts'
import type { StoredMemory } from './memory/stored-memory.ts'
import { readMemoryMaterial } from './memory/memory-material.ts'
import { MemoryRows } from './memory/memory-rows.ts'
import { createChangeCheck, LoadedTenantPart } from './tenant-part.ts'
import { TenantPairing } from './channels/pairing.ts'
import { TenantPending } from './pending.ts'
import { MaterialVersion, TenantPrompt } from './prompt-material.ts'
import { TenantOutgoing } from './outgoing/outgoing.ts'
import { TenantPlugins } from './plugins/plugins.ts'
import { TenantProjects } from './projects/projects.ts'
import { TenantPush } from './push/push.ts'
import { TenantSecrets } from './secrets/secrets.ts'
import { type SettingsChange, TenantSettings } from './settings.ts'
import { StoredValues } from './stored-values.ts'
import type { TenantSnapshot } from './tenant-snapshot.ts'
import { TenantRecall } from './recall/recall.ts'
import { TenantRetention } from './retention.ts'
import { SharedStorage } from './shared-storage.ts'
import { readSkillMaterial } from './skills/skill-material.ts'
import { SkillRows } from './skills/skill-rows.ts'
import { TenantSkills } from './skills/skills.ts'
import { ContextWindows } from './windows.ts'
import { parseTenantAddress, relayStub, sessionStub } from '#durable/platform/addresses.ts'

/** Enough for the answer to leave. */
const restartDelayMs = 100

export class TenantDO extends DurableObject<Env> {
  readonly #address = parseTenantAddress(this.ctx.id.name)
  readonly #id = this.#address.id
  readonly #mayChange = createChangeCheck(this.#id)
  readonly #announcer = systemAuthority(this.#id, { kind: 'job', id: 'access' })
  readonly #sql = this.ctx.storage.sql
  readonly #values = new StoredValues(this.#sql)
  readonly #audit = new TenantAudit({
    mayChange: this.#mayChange,
    tenantId: this.#id,
    sql: this.#sql,
    database: this.env.DB,
    armAlarm: () => this.armAlarm(),
  })
  readonly #billing = new TenantBilling({
    mayChange: this.#mayChange,
    tenantId: this.#id,
    sql: this.#sql,
    values: this.#values,
    history: historyDb(this.env, this.#id),
  })
  readonly #skillRows = new SkillRows(this.#sql, this.env.BLOBS, this.#id)
  readonly #projects = new TenantProjects({
    mayChange: this.#mayChange,
    tenantId: this.#id,
    sql: this.#sql,
    values: this.#values,
    audit: this.#audit,
    blobs: this.env.BLOBS,
    onRemoved: (id) => {
      this.#jobs.leaveProject(id)
      this.#memoryRows.remove({ target: 'project', owner: id })
      this.#materialVersion.increment()
    },
  })
  readonly #shared = new SharedStorage({
    tenantId: this.#id,
    sql: this.#sql,
    values: this.#values,
    env: this.env,
    ownBytes: () => this.#skillRows.storedBytes() + this.#projects.storedBytes(),
    limits: () => effectiveLimits(this.#values),
    armAlarm: () => this.armAlarm(),
  })
  readonly #retention = new TenantRetention({
    tenantId: this.#id,
    values: this.#values,
    db: historyDb(this.env, this.#id),
    settings: () => this.#settings.get(),
    blobs: this.env.BLOBS,
    prune: (authority, sessionId, before) => sessionStub(this.env, this.#id, sessionId).info.prune(authority, before),
  })
  readonly #limits = new TenantLimits({
    mayChange: this.#mayChange,
    sql: this.#sql,
    values: this.#values,
    billing: this.#billing,
    shared: this.#shared,
  })
  readonly #settings = new TenantSettings(this.#mayChange, this.#values, (change) => this.#settingsChanged(change))
  readonly #claims = new TenantClaims(this.#mayChange, this.#sql, this.#values)
  readonly #conversations = new TenantConversations(this.#mayChange, this.#sql)
  readonly #keyHealth = new TenantKeyHealth(this.#mayChange, this.#values)
  readonly #credentials = new TenantCredentials(this.#mayChange, {
    env: this.env,
    values: this.#values,
    keyHealth: this.#keyHealth,
    audit: this.#audit,
  })
  readonly #secrets = new TenantSecrets(this.#mayChange, this.#values, this.#audit)
  readonly #dataKeys = new TenantDataKeys(this.#mayChange, this.#values)
  readonly #windows = new ContextWindows(this.#mayChange, this.#values)
  readonly #push = new TenantPush({
    mayChange: this.#mayChange,
    values: this.#values,
    env: this.env,
    tenantId: this.#id,
    access: () => this.#access.get(),
    onFirst: () => this.ctx.waitUntil(this.#access.listenersChanged()),
    runInBackground: (work) => this.ctx.waitUntil(work),
  })
  readonly #relays = new EventRelays({
    values: this.#values,
    maxSockets: () => this.maxEventSockets,
    connect: (relayId) => {
      const { relay } = relayStub(this.env, this.#id, relayId)
      return {
        deliver: async (delivery) => relay.deliver(this.#announcer, delivery),
        setAccess: async (access) => relay.setAccess(this.#announcer, access),
      }
    },
  })
  readonly #relay = new EventRelay(this.#mayChange, () => this.#sockets)
  readonly #sockets = new TenantSockets({
    mayChange: this.#mayChange,
    ctx: this.ctx,
    push: this.#push,
    access: () => (this.#address.isRelay ? this.#relay.access : this.#access.get()),
    onFirst: () => {
      if (!this.#address.isRelay) this.ctx.waitUntil(this.#access.listenersChanged())
    },
    maxSockets: () => this.maxEventSockets,
    relays: this.#address.isRelay ? undefined : this.#relays,
    runInBackground: (work) => this.ctx.waitUntil(work),
  })
  readonly #events = new TenantEvents(this.#mayChange, this.#sockets)
  readonly #pending = new TenantPending(this.#mayChange, this.#sql, this.#sockets)
  readonly #pairing = new TenantPairing(this.#mayChange, this.#sql, this.#audit)
  readonly #chats = new TenantChats(this.#mayChange, this.#sql, this.#values)
  readonly #hooks = new TenantHooks(this.#mayChange)
  readonly #materialVersion = new MaterialVersion(this.#values)
  /** Each part that contributes to prompts gets `#materialVersion.increment` and adds its field here. */
  readonly #prompt = new TenantPrompt(this.#mayChange, this.#materialVersion, () => ({
    skills: readSkillMaterial(this.#skillRows),
    memory: readMemoryMaterial(this.#memoryRows),
  }))
  readonly #memoryRows = new MemoryRows(this.#sql)
  readonly #memory = new LoadedTenantPart<StoredMemory, MemoryMethod>(
    this.#mayChange,
    async () =>
      new (await import('./memory/stored-memory.ts')).StoredMemory({
        mayChange: this.#mayChange,
        rows: this.#memoryRows,
        audit: this.#audit,
        settings: () => this.#settings.get(),
        findProject: this.#projects.find,
        onChange: this.#materialVersion.increment,
      }),
  )
  readonly #skills = new TenantSkills({
    mayChange: this.#mayChange,
    rows: this.#skillRows,
    values: this.#values,
    audit: this.#audit,
    onChange: this.#materialVersion.increment,
    armAlarm: () => this.armAlarm(),
  })
  readonly #jobs = createTenantJobs({
    env: this.env,
    tenantId: this.#id,
    sql: this.#sql,
    mayChange: this.#mayChange,
    snapshot: () => this.snapshot(),
    skills: this.#skills,
    findHome: this.#chats.findHome,
    findProject: this.#projects.find,
    armAlarm: () => this.armAlarm(),
    runInBackground: (work) => this.ctx.waitUntil(work),
  })
  readonly #batches = new TenantBatches({
    mayChange: this.#mayChange,
    tenantId: this.#id,
    env: this.env,
    sql: this.#sql,
    values: this.#values,
    access: () => this.#access.get(),
    publish: (events) => this.#sockets.send(events),
    armAlarm: () => this.armAlarm(),
    runInBackground: (work) => this.ctx.waitUntil(work),
  })
  readonly #mcp = new TenantMcp({
    mayChange: this.#mayChange,
    tenantId: this.#id,
    env: this.env,
    sql: this.#sql,
    values: this.#values,
    audit: this.#audit,
    secrets: () => this.#secrets.sealed(),
  })
  readonly #outgoing = new TenantOutgoing({
    mayChange: this.#mayChange,
    tenantId: this.#id,
    env: this.env,
    sql: this.#sql,
    values: this.#values,
    audit: this.#audit,
    armAlarm: () => this.armAlarm(),
    runInBackground: (work) => this.ctx.waitUntil(work),
  })
  readonly #plugins = new TenantPlugins({
    mayChange: this.#mayChange,
    sql: this.#sql,
    values: this.#values,
    audit: this.#audit,
    secrets: () => this.#secrets.sealed(),
  })
  readonly #apps = new LoadedTenantPart<AppRows, AppMethod>(
    this.#mayChange,
    async () =>
      new (await import('./apps/app-rows.ts')).AppRows({
        mayChange: this.#mayChange,
        sql: this.#sql,
        audit: this.#audit,
        revoke: (id) => this.#access.revokeKey(systemAuthority(this.#id, { kind: 'job', id: 'apps' }, ['write']), id),
      }),
  )
  readonly #recall = new TenantRecall({
    mayChange: this.#mayChange,
    tenantId: this.#id,
    env: this.env,
    sql: this.#sql,
    values: this.#values,
    billing: this.#billing,
    settings: () => this.#settings.get(),
    armAlarm: () => this.armAlarm(),
    runInBackground: (work) => this.ctx.waitUntil(work),
  })
  readonly #fixes = new LoadedTenantPart<StoredFixes, FixMethod>(
    this.#mayChange,
    async () => new (await import('./fixes/stored-fixes.ts')).StoredFixes(this.#mayChange, this.#sql),
  )
  readonly #imageDescriptions = new TenantImageDescriptions(this.#mayChange, this.#sql)
  readonly #network = new TenantNetwork(this.#mayChange, this.#sql)
  readonly #browsers = new TenantBrowsers(
    { mayChange: this.#mayChange, values: this.#values, audit: this.#audit },
    this.#sql,
    () => effectiveLimits(this.#values),
  )
  readonly #access = new TenantAccess({
    mayChange: this.#mayChange,
    roles: () => this.#settings.get().roles ?? {},
    sql: this.#sql,
    values: this.#values,
    isWatched: () => this.#sockets.isWatched,
    announce: (sessionId, { access, isWatched }) =>
      sessionStub(this.env, this.#id, sessionId).access.change(this.#announcer, access, isWatched),
    announceToRelays: (access) => this.#relays.setAccess(access),
    onChange: (access) => this.#sockets.closeRefused(access),
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
  readonly #deletions = new TenantDeletions({
    mayChange: this.#mayChange,
    sql: this.#sql,
    env: this.env,
    armAlarm: () => this.armAlarm(),
  })

  readonly #backup = new TenantBackup({
    mayChange: this.#mayChange,
    storage: this.ctx.storage,
    restart: () => this.#restart(),
  })

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, inJurisdiction(env))
    refuseNewerSchema(ctx, this.#values.schema)
  }

  get backup(): TenantBackup {
    return this.#backup
  }

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

  get conversations(): TenantConversations {
    return this.#conversations
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

  get windows(): ContextWindows {
    return this.#windows
  }

  get events(): TenantEvents {
    return this.#events
  }

  get relay(): EventRelay {
    return this.#relay
  }

  get push(): TenantPush {
    return this.#push
  }

  get pending(): TenantPending {
    return this.#pending
  }

  get prompt(): TenantPrompt {
    return this.#prompt
  }

  get memory(): LoadedTenantPart<StoredMemory, MemoryMethod> {
    return this.#memory
  }

  get skills(): TenantSkills {
    return this.#skills
  }

  get jobs(): TenantJobs {
    return this.#jobs
  }

  get batches(): TenantBatches {
    return this.#batches
  }

  get mcp(): TenantMcp {
    return this.#mcp
  }

  get outgoing(): TenantOutgoing {
    return this.#outgoing
  }

  get plugins(): TenantPlugins {
    return this.#plugins
  }

  get apps(): LoadedTenantPart<AppRows, AppMethod> {
    return this.#apps
  }

  get projects(): TenantProjects {
    return this.#projects
  }

  get recall(): TenantRecall {
    return this.#recall
  }

  get fixes(): LoadedTenantPart<StoredFixes, FixMethod> {
    return this.#fixes
  }

  get imageDescriptions(): TenantImageDescriptions {
    return this.#imageDescriptions
  }

  get browsers(): TenantBrowsers {
    return this.#browsers
  }

  get network(): TenantNetwork {
    return this.#network
  }

  get pairing(): TenantPairing {
    return this.#pairing
  }

  get hooks(): TenantHooks {
    return this.#hooks
  }

  get chats(): TenantChats {
    return this.#chats
  }

  /** Everything that a request or a turn needs from the tenant, in one call. */
  snapshot(): TenantSnapshot {
    const credentials = this.#credentials.sealed()
    const secrets = this.#secrets.sealed()
    const promptVersion = this.#materialVersion.get()
    const mcpVersion = this.#mcp.version()
    const pluginVersion = this.#plugins.version()
    const outgoingEvents = this.#outgoing.wanted()
    return {
      id: this.#id,
      settings: this.#settings.get(),
      keys: this.#keyHealth.list(),
      windows: this.#windows.list(),
      limits: this.#limits.get(),
      access: this.#access.get(),
      ...(credentials && { credentials }),
      ...(secrets && { secrets }),
      ...(promptVersion !== undefined && { promptVersion }),
      ...(mcpVersion !== undefined && { mcpVersion }),
      ...(pluginVersion !== undefined && { pluginVersion }),
      ...(outgoingEvents && { outgoingEvents }),
      ...(this.#sockets.isWatched && { isWatched: true as const }),
    }
  }

  /**
   * Deletes everything that is stored here, and then this instance: it never returns, and the caller gets the error
   * `erasedMessage`. A tenant that takes the id meanwhile never meets what this instance remembers.
   */
  async erase(authority: Authority): Promise<void> {
    if (!this.#mayChange(authority, 'admin')) throw new Error('The call is not for this tenant.')
    await this.ctx.storage.deleteAlarm()
    await this.ctx.storage.deleteAll()
    await this.ctx.storage.sync()
    this.ctx.abort(erasedMessage)
  }

  #settingsChanged({ authority, before, after }: SettingsChange): void {
    this.#billing.limitsChanged(authority)
    const changes = listChanges(before, after)
    if (changes.length) this.#audit.add(authority, { kind: 'settings.changed', subject: this.#id, changes })
    if (JSON.stringify(before.roles) !== JSON.stringify(after.roles))
      this.ctx.waitUntil(this.#access.rolesChanged(authority))
    if (
      JSON.stringify(before.sessions) !== JSON.stringify(after.sessions) ||
      before.search?.embedding_model !== after.search?.embedding_model
    )
      this.armAlarm()
  }

  /** Ends this object after the answer of the call. The next call constructs it from its tables. */
  #restart(): void {
    this.armAlarm()
    setTimeout(() => this.ctx.abort('The tenant was restored.'), restartDelayMs)
  }

  /** Opens a WebSocket with the events of the tenant. */
  override fetch(request: Request): Response {
    return this.#sockets.serve(request)
  }

  override webSocketMessage(): void {
    // Sockets only receive events.
  }

  override webSocketClose(socket: WebSocket, code: number): void {
    socket.close(code === 1005 || code === 1006 ? 1000 : code)
  }

  override alarm(): Promise<void> {
    armFailpoints(this.env.FAILPOINTS)
    redactLogs(this.env)
    return withLogContext(
      () => ({ tenant_id: this.#id }),
      () => this.#alarm.run(),
    )
  }

  /** Event sockets of one object. Relays hold those beyond it. */
  protected get maxEventSockets(): number {
    return maxEventSockets
  }

  /** Parts that have work to do at a time of their own, while the tenant is active. */
  protected get scheduledParts(): ScheduledParts {
    return {
      jobs: this.#jobs,
      batches: this.#batches.part,
      skills: this.#skills,
      retention: this.#retention,
      recall: this.#recall,
      outgoing: this.#outgoing.part,
    }
  }

  /** Sets the alarm anew. Scheduled parts get it as a callback for changes of their times. */
  protected armAlarm(): void {
    this.#alarm.arm()
  }
}
