/**
 * Exports one tenant as lines of JSON, without secrets and without the contents of files. Every line has a `type`. Only
 * one page of rows or one message is in memory at a time. The last line is `end`: without it the export is not complete.
 */

import { historyDb } from '#db/shards/sharded-database.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { log } from '#agent/core/log.ts'
import { type Authority, scopes } from '#agent/core/permission/authority.ts'
import type { Settings } from '#agent/core/settings.ts'
import { listAuditEntries } from '#db/audit-log.ts'
import { createConnections } from '#db/channel-connections.ts'
import { openHistory } from '#db/history.ts'
import { createLogins } from '#db/logins.ts'
import { createTenants, type Tenant } from '#db/tenants.ts'
import { reportUsage, type UsageCursor, usageGroups } from '#db/usage-report.ts'
import { textStream } from '#durable/platform/byte-stream.ts'
import { memoryOf } from '#durable/tenant/memory/memory.ts'
import { projectsOf } from '#durable/tenant/projects/project.ts'
import { addressSession } from './sessions.ts'
import { blobPrefix, tenantStub } from '#durable/platform/addresses.ts'
import { vaultOf } from '#durable/tenant/vault/vault-entry.ts'

const pageSize = 100
const iso = (ms: number) => new Date(ms).toISOString()
const line = (type: string, fields: object): string => `${JSON.stringify({ type, ...fields })}\n`

export const exportTenant = (env: Env, tenant: Tenant): ReadableStream<Uint8Array> => textStream(lines(env, tenant))

async function* lines(env: Env, tenant: Tenant): AsyncGenerator<string> {
  const { id, createdAt, ...fields } = tenant
  yield line('export', { format: 'talaria.tenant', version: 1, tenant_id: id, at: iso(Date.now()) })
  yield line('tenant', { id, ...fields, created_at: iso(createdAt) })
  yield* tenantLines(env, id)
  yield* keyLines(env, id)
  yield* channelLines(env, id)
  yield* usageLines(env, id)
  yield* auditLines(env, id)
  const failed: string[] = []
  for await (const sessionId of sessionIds(env, id)) yield* sessionLines(env, id, sessionId, failed)
  yield* blobLines(env, id)
  yield line('end', { failed_sessions: failed })
}

async function* tenantLines(env: Env, tenantId: string): AsyncGenerator<string> {
  const tenant = tenantStub(env, tenantId)
  const [settings, credentials, secrets, people, vault] = await Promise.all([
    tenant.settings.get(),
    tenant.credentials.list(createOperator(tenantId)),
    tenant.secrets.list(createOperator(tenantId)),
    tenant.pairing.list(createOperator(tenantId)),
    vaultOf(env, tenantId).list(createOperator(tenantId)),
  ])
  yield line('settings', { settings: withoutHeaders(settings) })
  for (const { id, provider, name, lastFour, createdAt } of credentials.list)
    yield line('credential', { id, provider, name, last_four: lastFour, created_at: iso(createdAt) })
  for (const { name, lastFour, createdAt } of secrets)
    yield line('secret', { name, last_four: lastFour, created_at: iso(createdAt) })
  for (const { name, fields, origins, unasked, createdAt } of vault)
    yield line('vault', { name, fields, origins, unasked_origins: unasked, created_at: iso(createdAt) })
  for (const person of people) yield line('person', { ...person, at: iso(person.at) })
  for (const { target, owner, entries } of await memoryOf(tenant).listAll(createOperator(tenantId)))
    if (entries.length) yield line('memory', { target, owner: owner ?? null, entries })
  yield* skillLines(env, tenantId)
  yield* projectLines(env, tenantId)
  yield* jobLines(env, tenantId)
  yield* batchLines(env, tenantId)
}

/** The skills of the tenant with their files. Bundled ones are not the tenant's. */
async function* skillLines(env: Env, tenantId: string): AsyncGenerator<string> {
  const { skills } = tenantStub(env, tenantId)
  for (const { head, source } of await skills.list(createOperator(tenantId))) {
    const found = source === 'bundled' ? undefined : await skills.read(createOperator(tenantId), head.name)
    if (!found) continue
    const files = found.files.map(({ path, bytes }) => ({ path, data: encodeBase64Bytes(bytes) }))
    const { isPinned, hash, origin, createdAt, updatedAt } = found.summary
    const times = { created_at: iso(createdAt), updated_at: iso(updatedAt) }
    yield line('skill', { name: head.name, source, pinned: isPinned, hash, origin: origin ?? null, ...times, files })
  }
}

async function* projectLines(env: Env, tenantId: string): AsyncGenerator<string> {
  const operator = createOperator(tenantId)
  const projects = projectsOf(env, tenantId)
  for (const { access: _access, files, createdAt, updatedAt, ...project } of await projects.list(operator)) {
    const stored: object[] = []
    for (const { path, writtenBy } of files) {
      const bytes = await projects.readFile(operator, project.id, path)
      if (bytes) stored.push({ path, written_by: writtenBy, data: encodeBase64Bytes(bytes) })
    }
    yield line('project', { ...project, created_at: iso(createdAt), updated_at: iso(updatedAt), files: stored })
  }
}

async function* jobLines(env: Env, tenantId: string): AsyncGenerator<string> {
  let before: number | undefined
  do {
    const { data, next } = await tenantStub(env, tenantId).jobs.list(createOperator(tenantId), {
      limit: pageSize,
      before,
    })
    for (const job of data) yield line('job', job)
    before = next
  } while (before !== undefined)
}

/** A batch, then its prompts in their order. */
async function* batchLines(env: Env, tenantId: string): AsyncGenerator<string> {
  const { readBatches } = await import('./batch-view.ts')
  for await (const [type, fields] of readBatches(env, createOperator(tenantId))) yield line(type, fields)
}

/** The headers for providers may be secrets: only their names are exported. */
function withoutHeaders(settings: Settings): Settings {
  const providers = Object.entries(settings.providers ?? {}).map(([name, provider]) => [
    name,
    provider.headers ? { ...provider, headers: maskValues(provider.headers) } : provider,
  ])
  return settings.providers
    ? { ...settings, providers: Object.fromEntries(providers) as Settings['providers'] }
    : settings
}

const maskValues = (values: object) => Object.fromEntries(Object.keys(values).map((name) => [name, '****']))

async function* keyLines(env: Env, tenantId: string): AsyncGenerator<string> {
  for (const key of await createTenants(env.DB).listKeys(tenantId))
    yield line('key', {
      id: key.id,
      name: key.name,
      scopes: key.scopes,
      role: key.role,
      created_at: iso(key.createdAt),
      expires_at: key.expiresAt && iso(key.expiresAt),
      revoked_at: key.revokedAt && iso(key.revokedAt),
    })
  for (const { tenantId: _tenant, createdAt, ...rule } of await createLogins(env.DB).list(tenantId))
    yield line('login', { ...rule, created_at: iso(createdAt) })
}

async function* channelLines(env: Env, tenantId: string): AsyncGenerator<string> {
  const connections = createConnections(env.DB, tenantId)
  let before: { at: number; id: string } | undefined
  do {
    const page = await connections.list({ limit: pageSize, before })
    for (const { id, platform, name, status, createdAt, webhookUrl, settings, endings } of page)
      yield line('channel', {
        id,
        platform,
        name,
        status,
        created_at: iso(createdAt),
        webhook_url: webhookUrl,
        settings,
        secrets: endings,
      })
    const last = page.at(-1)
    before = page.length === pageSize && last ? { at: last.createdAt, id: last.id } : undefined
  } while (before)
}

async function* usageLines(env: Env, tenantId: string): AsyncGenerator<string> {
  for (const group of usageGroups) {
    let cursor: UsageCursor | undefined
    do {
      const filter = { group, from: 0, to: Date.now() + 1, limit: pageSize, cursor }
      const { data, next } = await reportUsage(historyDb(env, tenantId), tenantId, filter)
      for (const sums of data) yield line('usage', { group, ...sums })
      cursor = next
    } while (cursor)
  }
}

async function* auditLines(env: Env, tenantId: string): AsyncGenerator<string> {
  let before: { at: number; num: number } | undefined
  do {
    const page = await listAuditEntries(env.DB, tenantId, { limit: pageSize, before })
    for (const { num: _num, at, ...entry } of page) yield line('audit', { at: iso(at), ...entry })
    const last = page.at(-1)
    before = page.length === pageSize ? last : undefined
  } while (before)
}

async function* sessionIds(env: Env, tenantId: string): AsyncGenerator<string> {
  const history = openHistory(env, tenantId)
  let cursor: string | undefined
  do {
    const { data, nextCursor } = await history.listSessions({ limit: pageSize, cursor })
    for (const { id } of data) yield id
    cursor = nextCursor ?? undefined
  } while (cursor)
}

/** A session that cannot be read is named in the last line, and the export goes on. */
async function* sessionLines(env: Env, tenantId: string, id: string, failed: string[]): AsyncGenerator<string> {
  try {
    const session = addressSession(env, tenantId, id)
    const exported = await session.transfer.export(createOperator(tenantId), { format: 'jsonl', hasFiles: false })
    if (!exported) return
    let type = 'session'
    for await (const text of textLines(exported)) {
      // The first line describes the session, and each other one is a message: they are JSON already.
      yield `{"type":"${type}","session_id":${JSON.stringify(id)},"${type}":${text}}\n`
      type = 'message'
    }
    yield* fileLines(env, tenantId, id)
  } catch (error) {
    log.warn('tenant.export_incomplete', 'A session could not be exported.', { error })
    failed.push(id)
  }
}

async function* textLines(bytes: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let open = ''
  for await (const text of bytes.pipeThrough(new TextDecoderStream())) {
    const [first = '', ...others] = text.split('\n')
    open += first
    for (const next of others) {
      if (open) yield open
      open = next
    }
  }
  if (open) yield open
}

/** Deeper or more files than these are not listed. */
const maxDepth = 20
const maxFiles = 20_000

/** The names and sizes of the files in a workspace. */
async function* fileLines(env: Env, tenantId: string, id: string): AsyncGenerator<string> {
  const { files } = addressSession(env, tenantId, id)
  const open = [{ path: '.', depth: 0 }]
  let count = 0
  for (let folder = open.pop(); folder && count < maxFiles; folder = open.pop()) {
    const found = await files.read(createOperator(tenantId), folder.path)
    if (found?.kind !== 'directory') continue
    for (const { path, type, size, modified } of found.entries) {
      if (type === 'directory' && folder.depth < maxDepth) open.push({ path, depth: folder.depth + 1 })
      else if (count++ < maxFiles) yield line('file', { session_id: id, path, size, modified: iso(modified) })
    }
  }
}

/** The objects in R2: attachments, results and checkpoints. */
async function* blobLines({ BLOBS }: Env, tenantId: string): AsyncGenerator<string> {
  let cursor: string | undefined
  do {
    const page = await BLOBS?.list({ prefix: blobPrefix(tenantId), limit: pageSize, ...(cursor && { cursor }) })
    for (const { key, size, uploaded } of page?.objects ?? [])
      yield line('blob', { key, size, uploaded: uploaded.toISOString() })
    cursor = page?.truncated ? page.cursor : undefined
  } while (cursor)
}

/** The owner of the deployment acts for the tenant. */
const createOperator = (tenantId: string): Authority => ({
  tenantId,
  principal: { kind: 'key', id: 'admin' },
  scopes,
  taint: 'none',
})
