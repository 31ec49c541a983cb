/** `/api/admin/tenants/{id}/backup`: reads and restores a tenant in parts (docs/design/backups.md). */

import * as z from 'zod'
import { type TenantRow, writeTenantRows } from '#db/tenant-rows.ts'
import { createTenants } from '#db/tenants.ts'
import { readLines } from '#durable/platform/byte-stream.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { blobPrefix, tenantStub } from '#durable/platform/addresses.ts'
import { clearKeyCache } from '../auth.ts'
import { listNights, nightFilePattern, readNightFile } from '../backup/night-archive.ts'
import { decodeSession } from '../backup/session-lines.ts'
import {
  listBlobs,
  listSessions,
  readBlob,
  readCheckpoints,
  readRows,
  readSession,
  readState,
  type Source,
} from '../backup/tenant-parts.ts'
import { AppError, invalid } from '../errors.ts'
import { recordForTenant } from '../input/record-for-tenant.ts'
import { sessionParam, tenantParam } from '../openapi/path-params.ts'
import { type RouteCall, route } from '../route.ts'
import { addressSession, requireFound } from '../sessions.ts'
import { listOf, ok, pageQuery } from '../shapes.ts'

const tag = 'Administration'
const base = '/api/admin/tenants/:id/backup'
const lines = { 'content-type': 'application/x-ndjson; charset=utf-8', 'x-content-type-options': 'nosniff' }
const asLines = { 200: { description: 'Lines of JSON', type: 'application/x-ndjson' } }
const done = { 204: { description: 'Restored' } }

const keyQuery = z.strictObject({
  key: z.string().min(1).max(900).describe('The key of the object within the tenant, as the list of objects names it.'),
})

const sessionShape = z.object({
  id: z.string(),
  updated_at: z.iso.datetime(),
  mark: z.string().describe('Changes with everything that a backup of the session has.'),
})

/** Rows that are written together. D1 takes up to 100 values in one of them. */
const batchRows = 50

type AnyCall = RouteCall<unknown, unknown>

async function requireTenant({ env, param }: Pick<AnyCall, 'env' | 'param'>): Promise<string> {
  return requireFound(await createTenants(env.DB).get(param('id'))).id
}

/** The operator acts for the tenant. */
const operatorOf = ({ authority }: Pick<AnyCall, 'authority'>, tenantId: string) => ({ ...authority, tenantId })

const sourceOf = ({ env, authority: operator }: Pick<AnyCall, 'env' | 'authority'>, tenantId: string): Source => ({
  env,
  tenantId,
  operator,
})

/** A part may be empty: a tenant without keys, a file without bytes. */
const bodyOf = ({ web }: Pick<AnyCall, 'web'>): ReadableStream<Uint8Array> =>
  web.req.raw.body ?? (new Response('').body as ReadableStream<Uint8Array>)

const inUse = () =>
  new AppError(
    409,
    'conflict',
    'The tenant is in use. Restore into a new tenant, or one without memory, skills, projects and jobs.',
  )

export const backupRoutes = [
  route({
    method: 'get',
    path: `${base}/rows`,
    id: 'getBackupRows',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'Keys (as hashes), logins, channels, audit log and kept usage of a tenant',
    responses: asLines,
    handle: async (call) => {
      const id = await requireTenant(call)
      await recordForTenant(call.env, 'tenant.exported', id, call.authority)
      return new Response(readRows(sourceOf(call, id)), { headers: lines })
    },
  }),
  route({
    method: 'put',
    path: `${base}/rows`,
    id: 'writeBackupRows',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'Restore these rows. Rows that exist stay as they are',
    responses: done,
    handle: async (call) => {
      const id = await requireTenant(call)
      await recordForTenant(call.env, 'tenant.restored', id, call.authority)
      let open: TenantRow[] = []
      for await (const line of readLines(bodyOf(call))) {
        open.push(JSON.parse(line) as TenantRow)
        if (open.length < batchRows) continue
        await writeTenantRows(call.env, id, open)
        open = []
      }
      await writeTenantRows(call.env, id, open)
      clearKeyCache()
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'get',
    path: `${base}/state`,
    id: 'getBackupState',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'Settings, memory, skills, projects, jobs, people and sealed secrets of a tenant',
    responses: asLines,
    handle: async (call) => {
      const id = await requireTenant(call)
      await recordForTenant(call.env, 'tenant.exported', id, call.authority)
      return new Response(await readState(sourceOf(call, id)), { headers: lines })
    },
  }),
  route({
    method: 'put',
    path: `${base}/state`,
    id: 'writeBackupState',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'Restore them. The tenant must have no memory, skills, projects and jobs',
    responses: done,
    handle: async (call) => {
      const id = await requireTenant(call)
      await recordForTenant(call.env, 'tenant.restored', id, call.authority)
      if (!(await tenantStub(call.env, id).backup.write(call.authority, bodyOf(call)))) throw inUse()
      forgetSnapshot(id)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'get',
    path: `${base}/sessions`,
    id: 'listBackupSessions',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'The sessions of a tenant',
    query: z.strictObject(pageQuery),
    responses: ok('Sessions, newest first', listOf(sessionShape)),
    handle: async (call) => {
      const { limit = 100, cursor } = call.query
      return Response.json(await listSessions(sourceOf(call, await requireTenant(call)), { limit, cursor }))
    },
  }),
  route({
    method: 'get',
    path: `${base}/sessions/:session`,
    id: 'getBackupSession',
    params: { id: tenantParam, session: sessionParam },
    scope: 'admin',
    tag,
    summary: 'One session with its conversation and files',
    responses: asLines,
    handle: async (call) => {
      const id = await requireTenant(call)
      const bytes = await readSession(sourceOf(call, id), call.param('session'))
      return new Response(requireFound(bytes), { headers: lines })
    },
  }),
  route({
    method: 'put',
    path: `${base}/sessions/:session`,
    id: 'writeBackupSession',
    params: { id: tenantParam, session: sessionParam },
    scope: 'admin',
    tag,
    summary: 'Restore a session. One that exists stays as it is',
    responses: done,
    handle: async (call) => {
      const id = await requireTenant(call)
      const copy = await decodeSession(bodyOf(call))
      if (!copy) throw invalid('The first line must describe the session.', 'body')
      const session = addressSession(call.env, id, call.param('session'))
      requireFound(await session.transfer.restore(operatorOf(call, id), copy))
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'get',
    path: `${base}/sessions/:session/checkpoints`,
    id: 'getBackupCheckpoints',
    params: { id: tenantParam, session: sessionParam },
    scope: 'admin',
    tag,
    summary: 'The checkpoints of a session',
    responses: asLines,
    handle: async (call) => {
      const found = requireFound(
        await readCheckpoints(sourceOf(call, await requireTenant(call)), call.param('session')),
      )
      return new Response(found.rows, { headers: lines })
    },
  }),
  route({
    method: 'put',
    path: `${base}/sessions/:session/checkpoints`,
    id: 'writeBackupCheckpoints',
    params: { id: tenantParam, session: sessionParam },
    scope: 'admin',
    tag,
    summary: 'Restore them. Those that exist stay as they are',
    responses: done,
    handle: async (call) => {
      const id = await requireTenant(call)
      const { transfer } = addressSession(call.env, id, call.param('session'))
      if (!requireFound(await transfer.restoreCheckpoints(operatorOf(call, id), bodyOf(call))))
        throw new AppError(409, 'conflict', 'The session has made checkpoints of its own.')
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'get',
    path: `${base}/sessions/:session/kept`,
    id: 'listBackupKept',
    params: { id: tenantParam, session: sessionParam },
    scope: 'admin',
    tag,
    summary: 'The stored objects that its checkpoints need',
    responses: ok('Objects', listOf(z.object({ key: z.string() }))),
    handle: async (call) => {
      const found = await readCheckpoints(sourceOf(call, await requireTenant(call)), call.param('session'))
      await found?.rows.cancel()
      return Response.json({ data: (found?.keys ?? []).map((key) => ({ key })), next_cursor: null })
    },
  }),
  route({
    method: 'get',
    path: `${base}/blobs`,
    id: 'listBackupBlobs',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'The stored objects of a tenant: attachments, media, files of skills',
    query: z.strictObject(pageQuery),
    responses: ok('Objects', listOf(z.object({ key: z.string(), bytes: z.int(), etag: z.string() }))),
    handle: async (call) => {
      const { limit = 100, cursor } = call.query
      return Response.json(await listBlobs(sourceOf(call, await requireTenant(call)), { limit, cursor }))
    },
  }),
  route({
    method: 'get',
    path: `${base}/blob`,
    id: 'getBackupBlob',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'The bytes of a stored object',
    query: keyQuery,
    responses: { 200: { description: 'The bytes', type: 'application/octet-stream' } },
    handle: async (call) => {
      const found = requireFound(await readBlob(sourceOf(call, await requireTenant(call)), call.query.key))
      const headers = new Headers({ 'content-type': 'application/octet-stream', 'x-content-type-options': 'nosniff' })
      if (found.httpMetadata?.contentType) headers.set('x-stored-type', found.httpMetadata.contentType)
      return new Response(found.body, { headers })
    },
  }),
  route({
    method: 'put',
    path: `${base}/blob`,
    id: 'writeBackupBlob',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'Restore a stored object',
    query: keyQuery,
    responses: done,
    handle: async (call) => {
      const { env, query, web } = call
      if (!env.BLOBS) throw new AppError(501, 'not_configured', 'This deployment has no BLOBS.')
      const contentType = web.req.header('x-stored-type')
      const options = contentType ? { httpMetadata: { contentType } } : {}
      await env.BLOBS.put(blobPrefix(await requireTenant(call)) + query.key, web.req.raw.body ?? '', options)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'get',
    path: `${base}/nights`,
    id: 'listBackupNights',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'The nights whose backup of the tenant is stored, newest first',
    responses: ok('Nights', listOf(z.object({ night: z.iso.date() }))),
    handle: async (call) => {
      const bucket = nightBucket(call.env)
      const nights = bucket ? await listNights(bucket, call.param('id')) : []
      // Backups outlive their tenant, and come with the bucket into another deployment.
      if (!nights.length) await requireTenant(call)
      return Response.json({ data: nights.map((night) => ({ night })), next_cursor: null })
    },
  }),
  route({
    method: 'get',
    path: `${base}/nights/object`,
    id: 'getBackupNightObject',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'A file of these backups, sealed',
    query: z.strictObject({
      name: z.string().max(200).describe('As the list of a night names it.').meta({ example: 'archive.json' }),
    }),
    responses: { 200: { description: 'The bytes', type: 'application/octet-stream' } },
    handle: async (call) => {
      const bucket = nightFilePattern.test(call.query.name) ? nightBucket(call.env) : undefined
      const id = call.param('id')
      const found = requireFound((bucket && (await readNightFile(bucket, id, call.query.name))) ?? undefined)
      if (!call.query.name.endsWith('.sealed')) await recordForTenant(call.env, 'tenant.exported', id, call.authority)
      return new Response(found.body, {
        headers: { 'content-type': 'application/octet-stream', 'x-content-type-options': 'nosniff' },
      })
    },
  }),
]

const nightBucket = ({ BACKUPS, BLOBS }: Env): R2Bucket | undefined => BACKUPS ?? BLOBS
