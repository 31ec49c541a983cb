/**
 * Stores the plugins of a tenant: their code, which version of it a person has approved, what they store themselves, and
 * what they have logged. Sessions run the code; nothing of it runs here.
 */

import type { AuditAction } from '#agent/core/permission/audit.ts'
import { type Authority, isLimitedByRole } from '#agent/core/permission/authority.ts'
import { isGuard } from '#agent/plugins/plugin.ts'
import { clock } from '#durable/platform/clock.ts'
import type { SealedSecrets } from '#durable/platform/tenant-secrets.ts'
import type { KvRequest, UseResult } from '#backends/plugins/protocol.ts'
import type { TenantAudit } from '../audit.ts'
import type { StoredValues } from '../stored-values.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import {
  type OpenedPlugin,
  type PluginCatalogue,
  type PluginLog,
  type PluginState,
  type PluginVersion,
  type StoredPlugin,
  versionName,
} from './plugin-row.ts'

const maxPlugins = 50
/** So many failures of hooks in a row stop a plugin. */
const maxFailures = 3
const maxLogs = 100
const maxLogChars = 500
/** Keys and values of one plugin together. */
const maxKvChars = 1_000_000
const maxKvKeys = 10_000
const maxKeyChars = 512
const maxListed = 1_000
const dayMs = 86_400_000

const schema = [
  'CREATE TABLE IF NOT EXISTS plugin (name TEXT PRIMARY KEY, hash TEXT NOT NULL, approved TEXT, state TEXT NOT NULL, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS plugin_version (name TEXT NOT NULL, hash TEXT NOT NULL, code TEXT NOT NULL, grants TEXT NOT NULL, manifest TEXT NOT NULL, PRIMARY KEY (name, hash)) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS plugin_kv (name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, key)) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS plugin_log (id INTEGER PRIMARY KEY, name TEXT NOT NULL, at INTEGER NOT NULL, level TEXT NOT NULL, text TEXT NOT NULL)',
  'CREATE TABLE IF NOT EXISTS plugin_spend (name TEXT NOT NULL, day INTEGER NOT NULL, usd REAL NOT NULL, PRIMARY KEY (name, day)) WITHOUT ROWID',
]

type PluginRecord = {
  readonly name: string
  readonly hash: string
  readonly approved: string | null
  readonly state: string
  readonly createdAt: number
  readonly updatedAt: number
}
type VersionRecord = {
  readonly hash: string
  readonly code: string
  readonly grants: string
  readonly manifest: string
}

export type TenantPluginsOptions = {
  readonly mayChange: ChangeCheck
  readonly sql: SqlStorage
  readonly values: StoredValues
  readonly audit: TenantAudit
  readonly secrets: () => SealedSecrets | undefined
}

/** `guard`: without the plugin more calls could run, which needs the scope `approve`. */
type Outcome = 'stored' | 'unknown' | 'foreign' | 'guard'

const newState: PluginState = { failures: 0 }

export class PluginRows extends TenantPart {
  readonly #options: TenantPluginsOptions
  #hasTables = false

  constructor(options: TenantPluginsOptions) {
    super(options.mayChange)
    this.#options = options
  }

  list(authority: Authority): readonly StoredPlugin[] {
    this.requireOwn(authority)
    return this.#list()
  }

  find(authority: Authority, name: string): StoredPlugin | undefined {
    this.requireOwn(authority)
    return this.#find(name)
  }

  /** Newest last. */
  logs(authority: Authority, name: string): readonly PluginLog[] {
    this.requireOwn(authority)
    return this.#sql
      .exec<PluginLog>('SELECT at, level, text FROM plugin_log WHERE name = ? ORDER BY id', name)
      .toArray()
  }

  /** Plugins act in all sessions, as skills do: a role with limits changes none. */
  #mayConfigure(authority: Authority, scope: 'write' | 'approve'): boolean {
    return this.mayChange(authority, scope) && !isLimitedByRole(authority)
  }

  create(authority: Authority, name: string, version: PluginVersion): 'stored' | 'conflict' | 'full' | 'foreign' {
    if (!this.#mayConfigure(authority, 'write')) return 'foreign'
    const known = this.#list()
    if (known.some((plugin) => plugin.name === name)) return 'conflict'
    if (known.length >= maxPlugins) return 'full'
    const now = clock.now()
    this.#sql.exec(
      'INSERT INTO plugin VALUES (?, ?, NULL, ?, ?, ?)',
      name,
      version.hash,
      JSON.stringify(newState),
      now,
      now,
    )
    this.#putVersion(name, version)
    this.#changed()
    this.#audit(authority, 'plugin.created', name, { hash: version.hash })
    return 'stored'
  }

  /** Stores new code or grants, which wait. An approved version runs on until then. */
  update(authority: Authority, name: string, version: PluginVersion): Outcome {
    if (!this.#mayConfigure(authority, 'write')) return 'foreign'
    const plugin = this.#find(name)
    if (!plugin) return 'unknown'
    this.#putVersion(name, version)
    this.#sql.exec('UPDATE plugin SET hash = ?, updatedAt = ? WHERE name = ?', version.hash, clock.now(), name)
    this.#dropVersions(name)
    this.#changed()
    if (version.hash !== plugin.newest.hash) this.#audit(authority, 'plugin.changed', name, { hash: version.hash })
    return 'stored'
  }

  /** `conflict`: the code or the grants are not what the person has seen. */
  approve(authority: Authority, name: string, hash: string): 'approved' | 'conflict' | 'unknown' | 'foreign' {
    if (!this.#mayConfigure(authority, 'approve')) return 'foreign'
    const plugin = this.#find(name)
    if (!plugin) return 'unknown'
    if (plugin.newest.hash !== hash) return 'conflict'
    this.#sql.exec('UPDATE plugin SET approved = ? WHERE name = ?', hash, name)
    this.#putState(name, newState)
    this.#dropVersions(name)
    this.#changed()
    this.#audit(authority, 'plugin.approved', name, { hash })
    return 'approved'
  }

  setPaused(authority: Authority, name: string, isPaused: boolean): Outcome {
    const plugin = this.#mayConfigure(authority, 'write') ? this.#find(name) : undefined
    if (!plugin) return 'unknown'
    if (isPaused && !this.#mayLoosen(authority, plugin)) return 'guard'
    this.#putState(name, isPaused ? { failures: 0, stopped: 'paused', reason: 'A person has paused it.' } : newState)
    this.#changed()
    this.#audit(authority, 'plugin.changed', name, { paused: isPaused })
    return 'stored'
  }

  remove(authority: Authority, name: string): Outcome {
    const plugin = this.#mayConfigure(authority, 'write') ? this.#find(name) : undefined
    if (!plugin) return 'unknown'
    if (!this.#mayLoosen(authority, plugin)) return 'guard'
    for (const table of ['plugin', 'plugin_version', 'plugin_kv', 'plugin_log', 'plugin_spend'])
      this.#sql.exec(`DELETE FROM ${table} WHERE name = ?`, name)
    this.#changed()
    this.#audit(authority, 'plugin.deleted', name)
    return 'stored'
  }

  get #version(): number | undefined {
    return this.#options.values.get<number>(versionName)
  }

  #mayLoosen(authority: Authority, { approved }: StoredPlugin): boolean {
    return !approved || !isGuard(approved.manifest) || this.#mayConfigure(authority, 'approve')
  }

  /** The approved plugins that turns use. */
  catalogue(authority: Authority): PluginCatalogue {
    this.requireOwn(authority)
    const plugins = this.#list().flatMap(({ name, approved, state }) => {
      if (!approved || state.stopped === 'paused') return []
      const { hash, grants, manifest } = approved
      return [{ name, hash, grants, manifest, failures: state.failures, hasFailed: state.stopped === 'failed' }]
    })
    return { version: this.#version ?? 0, plugins }
  }

  /** The code for calls. Undefined: this version does not run any more. */
  open(authority: Authority, name: string, hash: string): OpenedPlugin | undefined {
    this.requireOwn(authority)
    const plugin = this.#find(name)
    if (!plugin?.approved || plugin.approved.hash !== hash || plugin.state.stopped === 'paused') return undefined
    return { code: plugin.approved.code, secrets: this.#options.secrets() }
  }

  /** Notes what a call has logged, and how a hook ended. */
  report(
    authority: Authority,
    name: string,
    { logs = [], hook }: { readonly logs?: readonly Omit<PluginLog, 'at'>[]; readonly hook?: 'failed' | 'done' },
  ): void {
    this.requireOwn(authority)
    const plugin = this.#find(name)
    if (!plugin) return
    for (const { level, text } of logs)
      this.#sql.exec(
        'INSERT INTO plugin_log (name, at, level, text) VALUES (?, ?, ?, ?)',
        name,
        clock.now(),
        level,
        text.slice(0, maxLogChars),
      )
    if (logs.length)
      this.#sql.exec(
        'DELETE FROM plugin_log WHERE name = ? AND id NOT IN (SELECT id FROM plugin_log WHERE name = ? ORDER BY id DESC LIMIT ?)',
        name,
        name,
        maxLogs,
      )
    if (hook) this.#countHook(plugin, hook)
  }

  #countHook({ name, state }: StoredPlugin, hook: 'failed' | 'done'): void {
    if (state.stopped || (hook === 'done' && state.failures === 0)) return
    const failures = hook === 'failed' ? state.failures + 1 : 0
    const isOver = failures >= maxFailures
    const reason = `Its hooks failed ${maxFailures} times in a row. Its logs say why.`
    this.#putState(name, isOver ? { failures, stopped: 'failed', reason } : { failures })
    if (isOver || hook === 'done') this.#changed()
  }

  // The store and the costs of the code.

  kv(authority: Authority, name: string, request: KvRequest): UseResult<unknown> {
    this.requireOwn(authority)
    if (!this.#find(name)) return { error: 'The plugin was deleted.' }
    if (request.do === 'list') return { value: this.#listKeys(name, request.prefix) }
    const { key } = request
    if (!key || key.length > maxKeyChars) return { error: `A key has 1 to ${maxKeyChars} characters.` }
    if (request.do === 'put') return this.#putValue(name, key, JSON.stringify(request.value ?? null))
    if (request.do === 'delete') {
      this.#sql.exec('DELETE FROM plugin_kv WHERE name = ? AND key = ?', name, key)
      return { value: null }
    }
    const [row] = this.#sql
      .exec<{ value: string }>('SELECT value FROM plugin_kv WHERE name = ? AND key = ?', name, key)
      .toArray()
    return { value: row ? (JSON.parse(row.value) as unknown) : null }
  }

  #listKeys(name: string, prefix: string): readonly string[] {
    return this.#sql
      .exec<{ key: string }>(
        'SELECT key FROM plugin_kv WHERE name = ? AND substr(key, 1, ?) = ? ORDER BY key LIMIT ?',
        name,
        prefix.length,
        prefix,
        maxListed,
      )
      .toArray()
      .map(({ key }) => key)
  }

  #putValue(name: string, key: string, value: string): UseResult<unknown> {
    const { chars, keys } = this.#sql
      .exec<{ chars: number; keys: number }>(
        'SELECT coalesce(sum(length(key) + length(value)), 0) AS chars, count(*) AS keys FROM plugin_kv WHERE name = ? AND key <> ?',
        name,
        key,
      )
      .one()
    if (chars + key.length + value.length > maxKvChars || keys >= maxKvKeys)
      return { error: `The store of a plugin has room for ${maxKvChars} characters and ${maxKvKeys} keys.` }
    this.#sql.exec('INSERT OR REPLACE INTO plugin_kv VALUES (?, ?, ?)', name, key, value)
    return { value: null }
  }

  /** Counts the cost of a model call, and returns what was spent today. */
  spend(authority: Authority, name: string, usd: number): number {
    this.requireOwn(authority)
    const day = Math.floor(clock.now() / dayMs)
    this.#sql.exec('DELETE FROM plugin_spend WHERE name = ? AND day < ?', name, day)
    if (usd > 0)
      this.#sql.exec(
        'INSERT INTO plugin_spend VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET usd = usd + excluded.usd',
        name,
        day,
        usd,
      )
    const [row] = this.#sql
      .exec<{ usd: number }>('SELECT usd FROM plugin_spend WHERE name = ? AND day = ?', name, day)
      .toArray()
    return row?.usd ?? 0
  }

  // Rows.

  get #sql(): SqlStorage {
    const { sql } = this.#options
    if (!this.#hasTables) for (const statement of schema) sql.exec(statement)
    this.#hasTables = true
    return sql
  }

  #changed(): void {
    // An object that was restored has an older version than isolates may remember.
    this.#options.values.set(versionName, Math.max((this.#version ?? 0) + 1, clock.now()))
  }

  #audit(authority: Authority, kind: AuditAction, subject: string, details?: Readonly<Record<string, unknown>>): void {
    this.#options.audit.add(authority, { kind, subject, ...(details && { details }) })
  }

  #list(): readonly StoredPlugin[] {
    // A tenant that never had one gets no tables.
    if (this.#version === undefined && !this.#hasTables) return []
    return this.#sql
      .exec<PluginRecord>('SELECT * FROM plugin ORDER BY name')
      .toArray()
      .flatMap((record) => this.#read(record) ?? [])
  }

  #find(name: string): StoredPlugin | undefined {
    if (this.#version === undefined && !this.#hasTables) return undefined
    const [record] = this.#sql.exec<PluginRecord>('SELECT * FROM plugin WHERE name = ?', name).toArray()
    return record && this.#read(record)
  }

  #read({ name, hash, approved, state, createdAt, updatedAt }: PluginRecord): StoredPlugin | undefined {
    const newest = this.#readVersion(name, hash)
    if (!newest) return undefined
    const running = approved === null || approved === hash ? undefined : this.#readVersion(name, approved)
    return {
      name,
      newest,
      approved: approved === hash ? newest : running,
      state: JSON.parse(state) as PluginState,
      createdAt,
      updatedAt,
    }
  }

  #readVersion(name: string, hash: string): PluginVersion | undefined {
    const [row] = this.#sql
      .exec<VersionRecord>(
        'SELECT hash, code, grants, manifest FROM plugin_version WHERE name = ? AND hash = ?',
        name,
        hash,
      )
      .toArray()
    if (!row) return undefined
    const { code, grants, manifest } = row
    return {
      hash,
      code,
      grants: JSON.parse(grants) as PluginVersion['grants'],
      manifest: JSON.parse(manifest) as PluginVersion['manifest'],
    }
  }

  #putVersion(name: string, { hash, code, grants, manifest }: PluginVersion): void {
    const texts = [JSON.stringify(grants), JSON.stringify(manifest)] as const
    this.#sql.exec('INSERT OR REPLACE INTO plugin_version VALUES (?, ?, ?, ?, ?)', name, hash, code, ...texts)
  }

  /** Keeps the newest and the approved one. */
  #dropVersions(name: string): void {
    this.#sql.exec(
      'DELETE FROM plugin_version WHERE name = ?1 AND hash NOT IN (SELECT hash FROM plugin WHERE name = ?1 UNION SELECT approved FROM plugin WHERE name = ?1 AND approved IS NOT NULL)',
      name,
    )
  }

  #putState(name: string, state: PluginState): void {
    this.#sql.exec('UPDATE plugin SET state = ? WHERE name = ?', JSON.stringify(state), name)
  }
}
