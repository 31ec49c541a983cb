/**
 * Defines the tables of D1, except the full-text tables, which are in the hand-written migration. There are no foreign
 * keys, because a table rebuild on D1 would delete the referring rows. Every row with tenant data has a tenant id.
 */

import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { Facets, SessionLine } from '#agent/core/facets.ts'
import type { Scope } from '#agent/core/permission/authority.ts'
import type { Limits } from '#agent/core/settings.ts'
import type { Usage } from '#agent/core/usage.ts'

export const session = sqliteTable(
  'session',
  {
    num: integer('num').primaryKey(),
    tenantId: text('tenant_id').notNull(),
    id: text('id').notNull(),
    title: text('title'),
    source: text('source').notNull(),
    model: text('model'),
    parentId: text('parent_id'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    // The day of updated_at. Only the day is indexed, so a turn on the same day does not write the index.
    activeDay: integer('active_day').notNull(),
    through: integer('through').notNull(),
    usage: text('usage', { mode: 'json' }).$type<Usage>().notNull(),
    state: text('state', { mode: 'json' }).$type<unknown>(),
    // The chat of the session, as ID:CHAT of its connection. It never changes.
    chat: text('chat'),
    pinned: integer('pinned', { mode: 'boolean' }).notNull().default(false),
    // Archived sessions are left out of lists.
    archived: integer('archived', { mode: 'boolean' }).notNull().default(false),
    // Null: not counted, because the session has not been used since these columns exist.
    messageCount: integer('message_count'),
    toolCallCount: integer('tool_call_count'),
    // The number of calls by tool.
    tools: text('tools', { mode: 'json' }).$type<Facets['tools']>(),
    tags: text('tags', { mode: 'json' }).$type<readonly string[]>(),
    line: text('line', { mode: 'json' }).$type<SessionLine>(),
    // The project that the session belongs to. Null: none.
    projectId: text('project_id'),
  },
  (table) => [
    uniqueIndex('session_tenant_id').on(table.tenantId, table.id),
    index('session_active').on(table.tenantId, table.activeDay),
    // Partial, so that sessions without a chat do not write it.
    index('session_chat')
      .on(table.tenantId, table.chat)
      .where(sql`chat IS NOT NULL`),
    // Finds the forks and children of a session. Partial for the same reason.
    index('session_parent')
      .on(table.tenantId, table.parentId)
      .where(sql`parent_id IS NOT NULL`),
    index('session_project')
      .on(table.tenantId, table.projectId, table.activeDay)
      .where(sql`project_id IS NOT NULL`),
  ],
)

export const page = sqliteTable('page', {
  // session.num · 2^20 + n, so that the pages of a session are one ordered range without a second index.
  id: integer('id').primaryKey(),
  tenantId: text('tenant_id').notNull(),
  runId: text('run_id').notNull(),
  at: integer('at').notNull(),
  last: integer('last').notNull(),
  size: integer('size').notNull(),
  // A hash of the row. If the mark is equal, nothing has to be written or indexed again.
  mark: integer('mark').notNull(),
  indexed: integer('indexed', { mode: 'boolean' }).notNull(),
  model: text('model'),
  usage: text('usage', { mode: 'json' }).$type<Usage>(),
  // The large columns are last, so that SQLite can read the small ones without them.
  turn: text('turn', { mode: 'json' }).$type<unknown>(),
  body: text('body').notNull(),
})

/** The usage of turns whose pages were deleted, by an undo or with their session. */
export const usageKept = sqliteTable(
  'usage_kept',
  {
    tenantId: text('tenant_id').notNull(),
    runId: text('run_id').notNull(),
    at: integer('at').notNull(),
    sessionId: text('session_id').notNull(),
    source: text('source').notNull(),
    model: text('model'),
    usage: text('usage', { mode: 'json' }).$type<Usage>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantId, table.runId] })],
)

/** The tenant of the deployment's owner, created by a migration. */
export const ownerTenant = 'default'

export const tenant = sqliteTable('tenant', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  // `deleting`: the tenant does not exist any more for requests, but its data is not all gone.
  status: text('status', { enum: ['active', 'suspended', 'deleting'] }).notNull(),
  limits: text('limits', { mode: 'json' }).$type<Limits>().notNull(),
  createdAt: integer('created_at').notNull(),
  // The binding of the database with the history. Null: DB.
  history: text('history'),
  // Mail addresses and domains that the operator has assigned. Null: none, for the tenant `default` all.
  mail: text('mail', { mode: 'json' }).$type<readonly string[]>(),
})

/** Tenants whose history has left this database, or is leaving it: queries for them are refused until then. */
export const moved = sqliteTable('moved', {
  tenantId: text('tenant_id').primaryKey(),
  // Milliseconds since 1970.
  since: integer('since').notNull(),
  until: integer('until').notNull(),
})

export const apiKey = sqliteTable(
  'api_key',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id').notNull(),
    name: text('name').notNull(),
    // SHA-256 of the secret, in hex. The secret is never stored.
    hash: text('hash').notNull(),
    scopes: text('scopes', { mode: 'json' }).$type<readonly Scope[]>().notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at'),
    lastUsedAt: integer('last_used_at'),
    revokedAt: integer('revoked_at'),
    // A role of the tenant's settings, which limits the scopes. Null: the key has them all.
    role: text('role'),
  },
  (table) => [index('api_key_tenant').on(table.tenantId)],
)

/** The audit log: decisions about tool calls, except calls that need none, and actions of keys and people. Append-only. */
export const audit = sqliteTable(
  'audit',
  {
    num: integer('num').primaryKey(),
    tenantId: text('tenant_id').notNull(),
    sessionId: text('session_id').notNull(),
    runId: text('run_id').notNull(),
    at: integer('at').notNull(),
    // A hash of what the entry says. Distinguishes two entries of the same time.
    mark: integer('mark').notNull(),
    body: text('body', { mode: 'json' }).$type<unknown>().notNull(),
    kind: text('kind').notNull().default('approval.decided'),
    // Empty when the system decided by its rules.
    actor: text('actor').notNull().default(''),
  },
  (table) => [
    uniqueIndex('audit_tenant_at').on(table.tenantId, table.at, table.runId, table.mark),
    index('audit_tenant_session').on(table.tenantId, table.sessionId, table.at),
    index('audit_tenant_kind').on(table.tenantId, table.kind, table.at),
    index('audit_tenant_actor')
      .on(table.tenantId, table.actor, table.at)
      .where(sql`actor <> ''`),
  ],
)

/** Public facts about models, shared by all tenants: `models.dev:<provider>`, `provider:<provider>`, and fetch leases. */
export const catalog = sqliteTable('catalog', {
  name: text('name').primaryKey(),
  at: integer('at').notNull(),
  body: text('body', { mode: 'json' }).$type<unknown>().notNull(),
})

/** Connections to messaging platforms. The id is part of the webhook's address and identifies the tenant there. */
export const channel = sqliteTable(
  'channel',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id').notNull(),
    platform: text('platform').notNull(),
    name: text('name').notNull(),
    status: text('status', { enum: ['active', 'paused'] }).notNull(),
    createdAt: integer('created_at').notNull(),
    webhookUrl: text('webhook_url').notNull(),
    settings: text('settings', { mode: 'json' }).$type<unknown>().notNull(),
    // All secrets as one sealed value, and the last characters of each for display.
    secrets: text('secrets').notNull(),
    endings: text('endings', { mode: 'json' }).$type<Readonly<Record<string, string>>>().notNull(),
    // The account as the platform reports it: id and name. Null until it was fetched.
    account: text('account', { mode: 'json' }).$type<unknown>(),
  },
  (table) => [
    index('channel_tenant').on(table.tenantId, table.createdAt),
    // Finds the connection that a mail belongs to. Without it two tenants could have one address.
    uniqueIndex('channel_mail')
      .on(sql`lower(json_extract(${table.settings}, '$.address'))`)
      .where(sql`${table.platform} = 'email'`),
  ],
)

/** Rules by which tokens of identity providers become access to a tenant. */
export const login = sqliteTable(
  'login',
  {
    id: text('id').primaryKey(),
    tenantId: text('tenant_id').notNull(),
    name: text('name').notNull(),
    issuer: text('issuer').notNull(),
    audience: text('audience').notNull(),
    // The claim that must have the value. Both are empty when every token of the issuer and audience matches.
    claim: text('claim').notNull(),
    value: text('value').notNull(),
    scopes: text('scopes', { mode: 'json' }).$type<readonly Scope[]>().notNull(),
    createdAt: integer('created_at').notNull(),
    // As that of a key.
    role: text('role'),
  },
  (table) => [index('login_issuer').on(table.issuer, table.audience)],
)
