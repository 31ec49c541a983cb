/** `/api/sessions/{id}/files/…`: reads, writes and deletes files of a workspace, also before the first turn. */

import * as z from 'zod'
import type { FileStat } from '#agent/core/backend.ts'
import type { Unreachable } from '#durable/session/core/checkpoints.ts'
import type { DocumentResult } from '#durable/session/core/document-text.ts'
import type { FileResult } from '#durable/session/core/files.ts'
import { readBytes } from '../input/body.ts'
import { etagOf } from '#durable/platform/etag.ts'
import { createLink } from '#durable/platform/signed-links.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { respondWithPart } from '../files/byte-range.ts'
import { ifMatchHeader, ifNoneMatchHeader, rangeHeader } from '../headers.ts'
import { requireStorageAdmission } from '../limits.ts'
import { pageByPosition } from '../input/page.ts'
import { requireEncryptionKey } from '../secrets/require-encryption-key.ts'
import { type RouteCall, route } from '../route.ts'
import { requireFound, addressSession } from '../sessions.ts'
import { listOf, longPageQuery, ok } from '../shapes.ts'
import { errorShape } from '../openapi/error-responses.ts'
import { nameSchemas } from '../schema-names.ts'
import { pathParam, sessionParam } from '../openapi/path-params.ts'

const path = '/api/sessions/:id/files/:path{.*}'
/** Counted, because the session may be called `files` too, or the word may be percent-encoded. */
const segmentsBeforePath = path.split('/').length - 1
const tag = 'Files'

const toEntry = ({ path: at, type, size, modified }: FileStat) => ({
  path: at,
  name: at.slice(at.lastIndexOf('/') + 1),
  type,
  size,
  modified_at: new Date(modified).toISOString(),
})
const entryShape = z.object({
  path: z.string(),
  name: z.string(),
  type: z.enum(['file', 'directory', 'link']),
  size: z.int(),
  modified_at: z.iso.datetime(),
})
nameSchemas(
  { FileEntry: entryShape },
  { FileEntry: { path: 'report.md', name: 'report.md', type: 'file', size: 5_120 } },
)

const textShape = z.object({ text: z.string(), pages: z.int().nullable().describe('Of a PDF file.') })

/** Returns the path after `files/`, without what follows it (`suffix`). Refuses `..`; the session refuses every other path outside the workspace. */
function parseFilePath({ web }: RouteCall<unknown, unknown>, suffix = ''): string {
  const rest = new URL(web.req.url).pathname.split('/').slice(segmentsBeforePath).join('/')
  if (!rest.endsWith(suffix)) throw notFound()
  return decodeFilePath(rest.slice(0, rest.length - suffix.length))
}

/** Decodes a path of a URL. Refuses `..` and characters that no file has in its name. */
export function decodeFilePath(raw: string): string {
  let decoded: string
  try {
    decoded = decodeURIComponent(raw)
  } catch {
    throw invalid('The path is not valid percent-encoding.', 'path')
  }
  return requirePath(decoded, 'path')
}

/** `param`: the field with the path. JSON may have a half of a character, which no file has in its name. */
function requirePath(text: string, param: string): string {
  if (text.includes('\0') || text.split('/').includes('..') || text.length > 1_024 || !text.isWellFormed())
    throw invalid('The path has a character or a part that is not allowed, or is too long.', param)
  return text || '.'
}

/** Maps a refusal: a full workspace is a limit, as is the full disk of a host, an unreachable host is transient, the rest is an invalid request. */
export function fileError({ message, code }: Extract<FileResult, { kind: 'refused' }>): AppError {
  if (code === 'quota')
    return new AppError(429, 'limit_exceeded', message, { param: 'storage_bytes', retryAfter: 3_600 })
  if (code === 'full') return new AppError(507, 'disk_full', message, { param: 'path' })
  if (code === 'too_large') return new AppError(413, 'body_too_large', message, { param: 'path' })
  if (code === 'unavailable') return new AppError(503, 'unavailable', message, { retryAfter: 30 })
  return new AppError(400, 'invalid_request', message, { param: 'path' })
}

/** Answers of a session, of which the refusals are errors. */
function requireReadable<T extends FileResult | DocumentResult>(
  given: T | Unreachable | null | undefined,
): Exclude<T, { kind: 'refused' | 'no-text' }> {
  const answer = requireFound(given ?? undefined)
  if ('unreachable' in answer) throw new AppError(503, 'unavailable', answer.unreachable, { retryAfter: 30 })
  if (answer.kind === 'refused') throw fileError(answer)
  if (answer.kind === 'no-text') throw invalid(`The file${answer.reason}`, 'format')
  return answer as Exclude<T, { kind: 'refused' | 'no-text' }>
}

type ReadCall = RouteCall<
  { readonly recursive: string; readonly checkpoint?: number | undefined; readonly format: string },
  unknown
>

async function readFile({ env, tenant, param, authority, query }: ReadCall, at: string) {
  const session = addressSession(env, tenant.id, param('id'))
  const { checkpoint, format, recursive } = query
  if (format === 'text') return requireReadable(await session.files.readText(authority, at))
  if (checkpoint !== undefined) return requireReadable(await session.checkpoints.read(authority, at, checkpoint))
  return requireReadable(await session.files.read(authority, at, recursive === '1'))
}

type SessionCall = Pick<RouteCall<unknown, unknown>, 'env' | 'tenant' | 'param' | 'authority'>

async function runOf({ env, tenant, param, authority }: SessionCall, checkpoint: number): Promise<string | undefined> {
  const all = await addressSession(env, tenant.id, param('id')).checkpoints.list(authority)
  return Array.isArray(all) ? all[checkpoint - 1]?.run_id : undefined
}

export const fileRoutes = [
  route({
    method: 'get',
    path,
    id: 'getSessionFile',
    params: { id: sessionParam, path: pathParam },
    scope: 'read',
    tag,
    summary: 'Read a file or a part of it, or list a directory',
    headers: [rangeHeader, ifNoneMatchHeader],
    query: z
      .strictObject({
        ...longPageQuery,
        recursive: z.enum(['0', '1']).default('0').describe('1: everything below the directory.'),
        checkpoint: z.coerce
          .number()
          .int()
          .min(1)
          .optional()
          .describe('The number of a checkpoint: the file as it was before that turn.'),
        format: z
          .enum(['bytes', 'text'])
          .default('bytes')
          .describe('text: the text of a PDF file, an office document or a notebook, as JSON.'),
      })
      .describe('`limit`, `cursor` and `recursive` are for directories.'),
    responses: {
      206: { description: 'The bytes of the range', type: 'application/octet-stream' },
      304: { description: 'The known version is the current one' },
      416: { description: 'The file has no such bytes', schema: errorShape },
      200: {
        description: 'Bytes of the file, its text, or the entries of the directory',
        schema: z.union([listOf(entryShape), textShape]),
        type: 'application/octet-stream',
      },
    },
    handle: async (call) => {
      const answer = await readFile(call, parseFilePath(call))
      if (answer.kind === 'text') return Response.json({ text: answer.text, pages: answer.pages ?? null })
      if (answer.kind === 'directory') return Response.json(pageByPosition(answer.entries.map(toEntry), call.query))
      if (answer.kind !== 'file') throw notFound()
      const headers = {
        'content-type': 'application/octet-stream',
        'content-disposition': 'attachment',
        'x-content-type-options': 'nosniff',
        'last-modified': new Date(answer.stat.modified).toUTCString(),
      }
      const { req } = call.web
      return respondWithPart(answer.bytes, await etagOf(answer.bytes), headers, {
        range: req.header('range'),
        ifRange: req.header('if-range'),
        ifNoneMatch: req.header('if-none-match'),
      })
    },
  }),
  route({
    method: 'put',
    path,
    id: 'writeSessionFile',
    params: { id: sessionParam, path: pathParam },
    scope: 'write',
    tag,
    summary: 'Write a file; the body is its bytes',
    headers: [ifMatchHeader, ifNoneMatchHeader],
    bytes: true,
    errors: ['DiskFull'],
    responses: {
      ...ok('Replaced', entryShape),
      201: { description: 'Created', schema: entryShape },
      412: { description: 'The file is another version than `If-Match` names', schema: errorShape },
    },
    handle: async (call) => {
      const bytes = await readBytes(call.web.req.raw)
      await requireStorageAdmission(call, bytes.byteLength)
      const answer = requireFound(
        await addressSession(call.env, call.tenant.id, call.param('id')).files.write(
          call.authority,
          parseFilePath(call),
          bytes,
          { match: call.web.req.header('if-match'), noneMatch: call.web.req.header('if-none-match') },
        ),
      )
      if (answer.kind === 'refused') throw fileError(answer)
      if (answer.kind === 'changed')
        throw new AppError(412, 'precondition_failed', 'The file has changed since. Read it again.', { param: 'path' })
      if (answer.kind !== 'written' || !answer.stat) throw notFound()
      const headers = { etag: await etagOf(bytes) }
      return Response.json(toEntry(answer.stat), { status: answer.created ? 201 : 200, headers })
    },
  }),
  route({
    method: 'post',
    path: `${path}/move`,
    id: 'moveSessionFile',
    params: { id: sessionParam, path: pathParam },
    scope: 'write',
    tag,
    summary: 'Move a file or a directory',
    example: { to: 'notes/report.md' },
    body: z.strictObject({ to: z.string().min(1).max(1_024).describe('The new path. Nothing may be there yet.') }),
    errors: ['DiskFull'],
    responses: ok('The file at its new path', entryShape),
    handle: async (call) => {
      const from = parseFilePath(call, '/move')
      const to = requirePath(call.body.to, 'to')
      const session = addressSession(call.env, call.tenant.id, call.param('id'))
      const answer = requireFound(await session.files.move(call.authority, from, to))
      if (answer.kind === 'refused') throw fileError(answer)
      if (answer.kind === 'exists')
        throw new AppError(409, 'conflict', 'There is a file at the new path already.', { param: 'to' })
      if (answer.kind !== 'moved' || !answer.stat) throw notFound()
      return Response.json(toEntry(answer.stat))
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/previews',
    id: 'createSessionPreview',
    params: { id: sessionParam },
    scope: 'read',
    tag,
    summary: 'Create a link that shows an HTML file as a page for five minutes',
    example: { path: 'index.html' },
    body: z.strictObject({
      path: z.string().min(1).max(1_024),
      scripts: z
        .boolean()
        .default(false)
        .describe('Its scripts run, on an origin of their own and without a network, in a frame of the page alone.'),
      checkpoint: z
        .int()
        .min(1)
        .max(1_000)
        .optional()
        .describe('The file as it was before the turn of this checkpoint.'),
    }),
    responses: ok('The link', z.object({ url: z.string() })),
    handle: async (call) => {
      const { env, authority, tenant, param } = call
      const filePath = requirePath(call.body.path, 'path')
      const session = addressSession(env, tenant.id, param('id'))
      const { checkpoint, scripts } = call.body
      const answer = requireReadable(
        checkpoint === undefined
          ? await session.files.read(authority, filePath)
          : await session.checkpoints.read(authority, filePath, checkpoint),
      )
      if (answer.kind !== 'file') throw notFound()
      requireEncryptionKey(env)
      // Numbers of checkpoints change with every turn, its run does not.
      const run = checkpoint === undefined ? undefined : await runOf(call, checkpoint)
      const preview = { scripts, ...(run !== undefined && { run }) }
      const file = { tenantId: tenant.id, sessionId: param('id'), path: filePath, preview }
      return Response.json({ url: requireFound(await createLink(env, file, Date.now())) })
    },
  }),
  route({
    method: 'delete',
    path,
    id: 'deleteSessionFile',
    params: { id: sessionParam, path: pathParam },
    scope: 'write',
    tag,
    summary: 'Delete a file or a directory',
    responses: { 204: { description: 'Deleted' } },
    handle: async (call) => {
      const answer = requireFound(
        await addressSession(call.env, call.tenant.id, call.param('id')).files.delete(
          call.authority,
          parseFilePath(call),
        ),
      )
      if (answer.kind === 'refused') throw fileError(answer)
      if (answer.kind !== 'removed') throw notFound()
      return new Response(null, { status: 204 })
    },
  }),
]
