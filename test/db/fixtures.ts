/** Records and pages for tests of src/db, and a database that is migrated once. */

import { applyD1Migrations, type D1Migration } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import type { Entry, Page, SessionRecord } from '#agent/core/history.ts'
import { userText, type Message } from '#agent/core/message.ts'
import { noUsage } from '#agent/core/usage.ts'

const bindings = env as unknown as { readonly DB: D1Database; readonly MIGRATIONS: D1Migration[] }

export const database = bindings.DB
export const applyMigrations = () => applyD1Migrations(bindings.DB, bindings.MIGRATIONS)

export const noonMs = Date.UTC(2026, 10, 21, 12)

let tenants = 0
/** State is shared by the tests of a file: each takes a tenant of its own. */
export const newTenant = () => `tenant-${++tenants}`

export const createRecord = (id: string, changes: Partial<SessionRecord> = {}): SessionRecord => ({
  id,
  title: null,
  source: 'api',
  model: 'demo/agent',
  parentId: null,
  createdAt: noonMs,
  updatedAt: noonMs,
  usage: noUsage,
  state: { settings: {} },
  ...changes,
})

export const assistantText = (text: string): Message => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  stop: 'end',
})
export const toolResult = (text: string): Message => ({
  role: 'tool',
  callId: 'c1',
  name: 'terminal',
  content: [{ type: 'text', text }],
  failed: false,
})

/** A page of messages from seq n on; strings are said in turn by a person and by the agent. */
export function createPage(n: number, messages: readonly (string | Message)[], changes: Partial<Page> = {}): Page {
  const at = changes.at ?? noonMs
  const entries = messages.map((message, i): Entry => ({
    id: `m${n + i}`,
    seq: n + i,
    runId: 'r1',
    at: at + i,
    tokens: 1,
    message: typeof message !== 'string' ? message : i % 2 === 0 ? userText(message) : assistantText(message),
  }))
  return { n, runId: 'r1', at, entries, ...changes }
}
