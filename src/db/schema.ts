/**
 * The ordinary tables of D1; the full-text tables are in the hand-written migration beside them.
 * No foreign keys: a table rebuild on D1 would delete what refers to it. Every row has its tenant, except
 * for what is public.
 */

import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { Limits } from '../agent/model/settings.ts'
import type { Usage } from '../agent/model/usage.ts'

export const scopes = ['chat', 'read', 'write', 'jobs', 'approve', 'admin'] as const
export type Scope = (typeof scopes)[number]

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
    // The day of updated_at, alone in the index of the directory: a turn on the same day leaves the index as it is.
    activeDay: integer('active_day').notNull(),
    through: integer('through').notNull(),
    usage: text('usage', { mode: 'json' }).$type<Usage>().notNull(),
    state: text('state', { mode: 'json' }).$type<unknown>(),
  },
  (table) => [
    uniqueIndex('session_tenant_id').on(table.tenantId, table.id),
    index('session_active').on(table.tenantId, table.activeDay),
  ],
)

export const page = sqliteTable('page', {
  // session.num · 2^20 + n: the pages of a session are one range, in order, without a second index.
  id: integer('id').primaryKey(),
  tenantId: text('tenant_id').notNull(),
  runId: text('run_id').notNull(),
  at: integer('at').notNull(),
  last: integer('last').notNull(),
  size: integer('size').notNull(),
  // A hash of all that is stored: an equal mark means that there is nothing to write or to index again.
  mark: integer('mark').notNull(),
  indexed: integer('indexed', { mode: 'boolean' }).notNull(),
  model: text('model'),
  usage: text('usage', { mode: 'json' }).$type<Usage>(),
  // The large columns stand last, so that the small ones are read without them.
  turn: text('turn', { mode: 'json' }).$type<unknown>(),
  body: text('body').notNull(),
})

/** What turns spent whose pages are gone: they were taken back, or their session was deleted. */
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

/** The tenant of the deployment's owner, which migrations make. */
export const ownerTenant = 'default'

export const tenant = sqliteTable('tenant', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  status: text('status', { enum: ['active', 'suspended'] }).notNull(),
  limits: text('limits', { mode: 'json' }).$type<Limits>().notNull(),
  createdAt: integer('created_at').notNull(),
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
  },
  (table) => [index('api_key_tenant').on(table.tenantId)],
)

/** What was decided about calls of tools, besides what is simply allowed. Rows are only added. */
export const audit = sqliteTable(
  'audit',
  {
    num: integer('num').primaryKey(),
    tenantId: text('tenant_id').notNull(),
    sessionId: text('session_id').notNull(),
    runId: text('run_id').notNull(),
    at: integer('at').notNull(),
    // The rest of the decision; its hash tells two of one moment apart.
    mark: integer('mark').notNull(),
    body: text('body', { mode: 'json' }).$type<unknown>().notNull(),
  },
  (table) => [
    uniqueIndex('audit_tenant_at').on(table.tenantId, table.at, table.runId, table.mark),
    index('audit_tenant_session').on(table.tenantId, table.sessionId, table.at),
  ],
)

/** Public facts about models, of no tenant: `models.dev:<provider>`, `provider:<provider>`, and who fetches next. */
export const catalog = sqliteTable('catalog', {
  name: text('name').primaryKey(),
  at: integer('at').notNull(),
  body: text('body', { mode: 'json' }).$type<unknown>().notNull(),
})

/** Connections to messaging platforms. The id stands in the address of the webhook and names the tenant there. */
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
    // All of them as one sealed value, and what people get to see of each.
    secrets: text('secrets').notNull(),
    endings: text('endings', { mode: 'json' }).$type<Readonly<Record<string, string>>>().notNull(),
    // What the platform says of the account: its id and name, once it was asked.
    account: text('account', { mode: 'json' }).$type<unknown>(),
  },
  (table) => [index('channel_tenant').on(table.tenantId, table.createdAt)],
)
