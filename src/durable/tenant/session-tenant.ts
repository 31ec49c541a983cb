/**
 * Holds the tenant's snapshot and keys for a session. Each request brings a snapshot; a turn without a request loads a
 * new one when the last one is too old.
 */

import { log } from '#agent/core/log.ts'
import { type Access, fullAccess } from '#agent/core/permission/access.ts'
import { errorResult } from '#agent/core/message.ts'
import type { Perform } from '#agent/core/ports.ts'
import type { Limits } from '#agent/core/settings.ts'
import type { ToolCall } from '#agent/core/turn.ts'
import { noKeys, openKeys, type TenantKeys } from '#durable/models/credentials.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { noSecrets, type OpenedSecrets, openSecrets } from '#durable/platform/tenant-secrets.ts'
import { type AccessReport, busyWatchMs } from './access.ts'
import { snapshotMaxAgeMs, shareSettings, type TenantSnapshot, fetchTenantSnapshot } from './tenant-snapshot.ts'
import { clock } from '#durable/platform/clock.ts'
import type { Tool } from '#agent/core/tool.ts'
import type { TaskRequest } from '#agent/core/pending-request.ts'
import type { ProgramHost } from './mcp/list-server.ts'
import type { McpTools } from './mcp/tenant-tools.ts'
import type { BuiltIn } from './plugins/built-in-plugins.ts'
import type { TenantPluginTools } from './plugins/load-plugins.ts'
import type { PluginHooks } from './plugins/plugin-hooks.ts'

/** The age at which a new turn loads new settings. */
const settingsMaxAgeMs = 5_000
/** A registration for changes of the access is renewed so long before its end. */
const renewBeforeMs = 300_000
/** A session that nobody watched asks again after this time. */
const unwatchedMs = 60_000
const noTools: readonly Tool[] = []
const noBuiltIn: BuiltIn = { tools: noTools, joinHooks: (own) => own }

export class SessionTenant {
  snapshot: TenantSnapshot | undefined
  keys: TenantKeys = noKeys
  secrets: OpenedSecrets = noSecrets
  /** Tools of MCP servers. */
  mcp: McpTools | undefined
  plugins: TenantPluginTools | undefined
  /** Of built-in plugins and those of the tenant. */
  hooks: PluginHooks | undefined
  /** Of built-in plugins, servers and plugins: the same array as long as they are the same. */
  tools: readonly Tool[] = noTools
  #joined: readonly (readonly Tool[])[] = []
  #access: Access = fullAccess
  /** When the load of this access began, and the last try to load one. */
  #accessAt = 0
  #accessTriedAt = 0
  /** Until then the tenant's object announces every change. */
  #announcedUntil = 0
  #refreshingAccess: Promise<void> | undefined
  #isWatched = false
  #watchedAt = 0
  readonly #env: Env
  readonly #id: string
  readonly #loader: WorkerLoader | undefined
  readonly #watchAccess: () => PromiseLike<AccessReport>
  #loadedAt = 0
  #lastTurnId = ''

  /**
   * `watchAccess`: registers the session with the tenant's object, which announces changes for `busyWatchMs`. `loader`:
   * queues the isolates of the session's object.
   */
  constructor(
    env: Env,
    id: string,
    { watchAccess, loader }: { readonly watchAccess: () => PromiseLike<AccessReport>; readonly loader?: WorkerLoader },
  ) {
    this.#env = env
    this.#id = id
    this.#loader = loader
    this.#watchAccess = watchAccess
  }

  /** Whether the tenant may act, and its revoked keys: newer than the snapshot, which stays as it is for a turn. */
  get access(): Access {
    return this.#access
  }

  get limits(): Limits | undefined {
    return this.snapshot?.limits
  }

  /** Replaces the snapshot. The keys are set first, because a turn starts as soon as there is a snapshot. */
  async update(snapshot: TenantSnapshot): Promise<void> {
    const opened = await Promise.all([openKeys(this.#env, snapshot), openSecrets(this.#env, snapshot)])
    if (snapshot.mcpVersion !== undefined) {
      const { tryLoadMcpTools } = await import('./mcp/tenant-tools.ts')
      this.mcp = await tryLoadMcpTools(this.#env, snapshot, this.mcp)
    }
    await this.#updatePlugins(snapshot)
    this.keys = opened[0]
    this.secrets = opened[1]
    this.snapshot = shareSettings(snapshot)
    this.#loadedAt = clock.now()
    this.setAccess(snapshot.access ?? fullAccess, snapshot.loadedAt)
    this.noteWatched(snapshot.isWatched ?? false, snapshot.loadedAt)
  }

  async #updatePlugins(snapshot: TenantSnapshot): Promise<void> {
    if (snapshot.pluginVersion !== undefined) {
      const { tryLoadPlugins } = await import('./plugins/load-plugins.ts')
      this.plugins = await tryLoadPlugins({ env: this.#env, loader: this.#loader, last: this.plugins }, snapshot)
    }
    const { tools, joinHooks } = await this.#loadBuiltIn(snapshot)
    const { hooks, tools: own = noTools } = this.plugins ?? {}
    this.hooks = joinHooks(hooks)
    this.#joinTools(tools, this.mcp?.tools ?? noTools, own)
  }

  async #loadBuiltIn(snapshot: TenantSnapshot): Promise<BuiltIn> {
    if (!snapshot.settings.plugins?.enabled?.length) return noBuiltIn
    return (await import('./plugins/built-in-plugins.ts')).loadBuiltInPlugins(this.#env, snapshot)
  }

  #joinTools(...lists: readonly (readonly Tool[])[]): void {
    if (lists.length === this.#joined.length && lists.every((list, at) => list === this.#joined[at])) return
    this.#joined = lists
    const filled = lists.filter((list) => list.length > 0)
    const [first = noTools, ...others] = filled
    this.tools = others.length ? filled.flat() : first
  }

  /** Lists the tools of servers that are programs of the session's host, so that the next turn has them. */
  listPrograms(host: ProgramHost): Promise<void> | undefined {
    return this.mcp?.listPrograms?.(host)?.then(() => this.refresh())
  }

  async cancelTasks(sessionId: string, tasks: readonly TaskRequest[]): Promise<void> {
    const { cancelTasks } = await import('./mcp/tenant-tools.ts')
    await cancelTasks({ env: this.#env, tenantId: this.#id, sessionId, tools: this.tools }, tasks)
  }

  /** Whether anybody may listen to the tenant's events. When nobody did, it is asked again after a while. */
  get mayBeWatched(): boolean {
    return this.#isWatched || clock.now() - this.#watchedAt > unwatchedMs
  }

  noteWatched(isWatched: boolean, at = clock.now()): void {
    this.#isWatched = isWatched
    this.#watchedAt = at
  }

  /** Replaces the access, unless a newer one is here already. */
  setAccess(access: Access, at = clock.now()): void {
    if (at < this.#accessAt) return
    this.#access = access
    this.#accessAt = at
  }

  /** Whether the access is too old to begin another step, also while a newer one is being loaded. */
  get isAccessStale(): boolean {
    const now = clock.now()
    if (now < this.#announcedUntil) return false
    if (this.#refreshingAccess) return true
    return now - Math.max(this.#accessAt, this.#accessTriedAt) > snapshotMaxAgeMs
  }

  /** How long the access needs no look, because changes of it are announced. Zero: they are not. */
  get announcedMs(): number {
    return Math.max(0, this.#announcedUntil - renewBeforeMs - clock.now())
  }

  /** The tenant's object announces no further change. */
  endAnnouncements(): void {
    this.#announcedUntil = 0
  }

  /**
   * Loads the access when it is too old, and has changes announced from then on: a long turn asks once. The last access
   * stays in use while the tenant cannot be reached.
   */
  async refreshAccess(): Promise<void> {
    const isRenewalDue = this.#announcedUntil > 0 && this.announcedMs === 0
    if (!this.isAccessStale && !isRenewalDue) return
    this.#refreshingAccess ??= this.#loadAccess().finally(() => (this.#refreshingAccess = undefined))
    return this.#refreshingAccess
  }

  async #loadAccess(): Promise<void> {
    const askedAt = clock.now()
    this.#accessTriedAt = askedAt
    try {
      const { access, isWatched } = await this.#watchAccess()
      this.setAccess(access, askedAt)
      this.noteWatched(isWatched, askedAt)
      this.#announcedUntil = askedAt + busyWatchMs
    } catch (error) {
      if (isOwnReset(error)) throw error
      // During a deploy the tenant's object may be older than this one, and have no such method.
      await this.#loadAccessOnly()
    }
  }

  async #loadAccessOnly(): Promise<void> {
    try {
      const { access = fullAccess, isWatched = false, loadedAt } = await fetchTenantSnapshot(this.#env, this.#id)
      this.setAccess(access, loadedAt)
      this.noteWatched(isWatched, loadedAt)
    } catch (error) {
      if (isOwnReset(error)) throw error
      log.warn('tenant.unreachable', 'The tenant cannot be reached; its last access stays in use.', { error })
    }
  }

  /** Loads the snapshot after a wake-up without a request. */
  async load(): Promise<void> {
    if (!this.snapshot) await this.update(await fetchTenantSnapshot(this.#env, this.#id))
  }

  /** Loads the snapshot. False when the tenant cannot be reached: the alarm that is set retries. */
  async tryLoad(): Promise<boolean> {
    try {
      await this.load()
      return true
    } catch (error) {
      if (isOwnReset(error)) throw error
      log.warn('tenant.unreachable', 'The tenant cannot be reached; the alarm will retry.', { error })
      return false
    }
  }

  /** Whether the snapshot is too old for a new turn. True at most once for each turn. */
  needsRefresh(turn: string): boolean {
    const isNew = turn !== this.#lastTurnId
    this.#lastTurnId = turn
    return isNew && clock.now() - this.#loadedAt > settingsMaxAgeMs
  }

  /** Loads a new snapshot. The old one stays in use while the tenant cannot be reached. */
  async refresh(): Promise<void> {
    try {
      await this.update(await fetchTenantSnapshot(this.#env, this.#id))
    } catch (error) {
      log.warn('tenant.unreachable', 'The tenant cannot be reached; the last snapshot stays in use.', { error })
    }
  }
}

type AbortableSession = {
  readonly tenant: SessionTenant
  readonly driver: { readonly abortable: () => AbortController }
  readonly access: TurnAccess
}

/** Both methods stop the turn when its tenant or its key may not go on, and return whether it is stopped. */
export type TurnAccess = {
  readonly startChecks: () => void
  readonly check: () => Promise<boolean>
  readonly apply: () => boolean
}

/**
 * Refreshes the tenant before the first model call of a turn that was queued or that no request started, and checks
 * before every step that the turn may go on. Nothing is awaited while both are known.
 */
export const withFreshTenant = (session: AbortableSession, perform: Perform): Perform =>
  async function* (step, turn) {
    const { access, tenant, driver } = session
    access.startChecks()
    let isStopped = false
    if (step.do === 'call-model' && tenant.needsRefresh(turn.id)) {
      const { signal } = driver.abortable()
      await tenant.refresh()
      isStopped = signal.aborted
    }
    if (tenant.isAccessStale) isStopped = (await access.check()) || isStopped
    else isStopped = access.apply() || isStopped
    if (!isStopped) return yield* perform(step, turn)
    if (step.do === 'run-tools') yield* step.calls.map((call) => ({ of: 'tool' as const, message: notRun(call) }))
    else if (step.do !== 'finish') yield { of: 'failure', failure: { kind: 'aborted', message: '' } }
  }

const notRun = (call: ToolCall) => errorResult(call, 'Not run: the turn was stopped.')
