/** `/api/sessions/{id}/files/…`: the workspace of a session, also before its first turn. */

import * as z from 'zod'
import type { FileStat } from '../../agent/model/backend.ts'
import type { FileAnswer } from '../../durable/session/files.ts'
import { readBytes } from '../body.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { limitStorage } from '../limits.ts'
import { type Call, route } from '../route.ts'
import { found, sessionStub } from '../sessions.ts'
import { listOf, ok } from '../shapes.ts'

const path = '/api/sessions/:id/files/:path{.*}'
/** Parts of the address before that of the file. */
const before = path.split('/').length - 1
const tag = 'Files'

const entry = ({ path: at, type, size, modified }: FileStat) => ({
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

/**
 * Everything behind `files/`, by its place: a session may be called like that too, and the word may be written with
 * escapes. Never out of the workspace by dots; the session refuses what is not in it.
 */
function pathOf({ web }: Call<unknown, unknown>): string {
  const raw = new URL(web.req.url).pathname.split('/').slice(before).join('/')
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

/** A full disk is a limit, a machine that cannot be reached passes, everything else is wrong with the request. */
function refused({ message, code }: Extract<FileAnswer, { is: 'refused' }>): AppError {
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
    responses: {
      200: {
        description: 'Bytes of the file, or the entries of the directory',
        schema: listOf(entryShape),
        type: 'application/octet-stream',
      },
    },
    handle: async (call) => {
      const answer = found(await sessionStub(call.env, call.tenant.id, call.param('id')).files.read(pathOf(call)))
      if (answer.is === 'directory') return Response.json({ data: answer.entries.map(entry), next_cursor: null })
      if (answer.is === 'refused') throw refused(answer)
      if (answer.is !== 'file') throw notFound()
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
      await limitStorage(call.env, call.tenant, bytes.byteLength)
      const answer = found(
        await sessionStub(call.env, call.tenant.id, call.param('id')).files.write(pathOf(call), bytes),
      )
      if (answer.is === 'refused') throw refused(answer)
      if (answer.is !== 'written' || !answer.stat) throw notFound()
      return Response.json(entry(answer.stat), { status: answer.created ? 201 : 200 })
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
      const answer = found(await sessionStub(call.env, call.tenant.id, call.param('id')).files.delete(pathOf(call)))
      if (answer.is === 'refused') throw refused(answer)
      if (answer.is !== 'removed') throw notFound()
      return new Response(null, { status: 204 })
    },
  }),
]
