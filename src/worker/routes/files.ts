/** `/api/sessions/{id}/files/…`: reads, writes and deletes files of a workspace, also before the first turn. */

import * as z from 'zod'
import type { FileStat } from '../../agent/model/backend.ts'
import type { FileResult } from '../../durable/session/files.ts'
import { readBytes } from '../input/body.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { requireStorageAdmission } from '../limits.ts'
import { pageByPosition } from '../input/page.ts'
import { type Call, route } from '../route.ts'
import { requireFound, sessionStub } from '../sessions.ts'
import { listOf, longPageQuery, ok } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'

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
nameSchemas({ FileEntry: entryShape })

/** Returns the path after `files/`. Refuses `..`; the session refuses every other path outside the workspace. */
function parseFilePath({ web }: Call<unknown, unknown>): string {
  const raw = new URL(web.req.url).pathname.split('/').slice(segmentsBeforePath).join('/')
  let decoded: string
  try {
    decoded = decodeURIComponent(raw)
  } catch {
    throw invalid('The path is not valid percent-encoding.', 'path')
  }
  if (decoded.includes('\0') || decoded.split('/').includes('..') || decoded.length > 1_024)
    throw invalid('The path has a character or a part that is not allowed, or is too long.', 'path')
  return decoded || '.'
}

/** Maps a refusal: a full workspace is a limit, an unreachable host is transient, the rest is an invalid request. */
function fileError({ message, code }: Extract<FileResult, { kind: 'refused' }>): AppError {
  if (code === 'quota')
    return new AppError(429, 'limit_exceeded', message, { param: 'storage_bytes', retryAfter: 3_600 })
  if (code === 'unavailable') return new AppError(503, 'unavailable', message, { retryAfter: 30 })
  return new AppError(400, 'invalid_request', message, { param: 'path' })
}

export const fileRoutes = [
  route({
    method: 'get',
    path,
    scope: 'read',
    tag,
    summary: 'Read a file, or list a directory',
    query: z.strictObject(longPageQuery).describe('For directories.'),
    responses: {
      200: {
        description: 'Bytes of the file, or the entries of the directory',
        schema: listOf(entryShape),
        type: 'application/octet-stream',
      },
    },
    handle: async (call) => {
      const answer = requireFound(
        await sessionStub(call.env, call.tenant.id, call.param('id')).files.read(call.authority, parseFilePath(call)),
      )
      if (answer.kind === 'directory') return Response.json(pageByPosition(answer.entries.map(toEntry), call.query))
      if (answer.kind === 'refused') throw fileError(answer)
      if (answer.kind !== 'file') throw notFound()
      return new Response(answer.bytes, {
        headers: {
          'content-type': 'application/octet-stream',
          'content-disposition': 'attachment',
          'x-content-type-options': 'nosniff',
          'last-modified': new Date(answer.stat.modified).toUTCString(),
        },
      })
    },
  }),
  route({
    method: 'put',
    path,
    scope: 'write',
    tag,
    summary: 'Write a file; the body is its bytes',
    bytes: true,
    responses: { ...ok('Replaced', entryShape), 201: { description: 'Created', schema: entryShape } },
    handle: async (call) => {
      const bytes = await readBytes(call.web.req.raw)
      await requireStorageAdmission(call, bytes.byteLength)
      const answer = requireFound(
        await sessionStub(call.env, call.tenant.id, call.param('id')).files.write(
          call.authority,
          parseFilePath(call),
          bytes,
        ),
      )
      if (answer.kind === 'refused') throw fileError(answer)
      if (answer.kind !== 'written' || !answer.stat) throw notFound()
      return Response.json(toEntry(answer.stat), { status: answer.created ? 201 : 200 })
    },
  }),
  route({
    method: 'delete',
    path,
    scope: 'write',
    tag,
    summary: 'Delete a file or a directory',
    responses: { 204: { description: 'Deleted' } },
    handle: async (call) => {
      const answer = requireFound(
        await sessionStub(call.env, call.tenant.id, call.param('id')).files.delete(call.authority, parseFilePath(call)),
      )
      if (answer.kind === 'refused') throw fileError(answer)
      if (answer.kind !== 'removed') throw notFound()
      return new Response(null, { status: 204 })
    },
  }),
]
