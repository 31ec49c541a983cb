/** `/api/projects/{id}/files/…`: reads, writes and deletes the files of a project. */

import { maxProjectFileBytes, projectsOf } from '#durable/tenant/projects/project.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { readBytes } from '../../input/body.ts'
import { requireStorageAdmission } from '../../limits.ts'
import { projectParam } from '../../openapi/path-params.ts'
import { type RouteCall, route } from '../../route.ts'
import { requireFound } from '../../sessions.ts'
import { ok } from '../../shapes.ts'
import { decodeFilePath } from '../files.ts'
import { forbidden, projectFileShape, toFileView } from './projects.ts'

const tag = 'Projects'
const path = '/api/projects/:id/files/:path{.*}'
const segmentsBeforePath = path.split('/').length - 1
const params = {
  id: projectParam,
  path: { description: 'A path in the project; slashes are kept.', example: 'budget.csv' },
}

/** Copies of the files have the same path below a folder of the workspace, so it names one file in one way. */
function parsePath({ web }: RouteCall<unknown, unknown>): string {
  const raw = new URL(web.req.url).pathname.split('/').slice(segmentsBeforePath).join('/')
  const decoded = decodeFilePath(raw).normalize('NFC')
  if (decoded.split('/').some((part) => part === '' || part === '.'))
    throw invalid('The path is not that of a file.', 'path')
  return decoded
}

export const projectFileRoutes = [
  route({
    method: 'get',
    path,
    id: 'getProjectFile',
    params,
    scope: 'read',
    tag,
    summary: 'Read a file of a project',
    responses: { 200: { description: 'Its bytes', type: 'application/octet-stream' } },
    handle: async (call) => {
      const { env, tenant, authority, param } = call
      const bytes = requireFound(await projectsOf(env, tenant.id).readFile(authority, param('id'), parsePath(call)))
      return new Response(new Uint8Array(bytes), {
        headers: {
          'content-type': 'application/octet-stream',
          'content-disposition': 'attachment',
          'x-content-type-options': 'nosniff',
        },
      })
    },
  }),
  route({
    method: 'put',
    path,
    id: 'writeProjectFile',
    params,
    scope: 'write',
    tag,
    summary: 'Write a file of a project; the body is its bytes',
    bytes: true,
    responses: {
      ...ok('Replaced', projectFileShape),
      201: { description: 'Created', schema: projectFileShape },
    },
    handle: async (call) => {
      const { env, tenant, authority, param, web } = call
      const at = parsePath(call)
      const bytes = await readBytes(web.req.raw, { bytes: maxProjectFileBytes, text: '10 MB' })
      await requireStorageAdmission(call, bytes.byteLength)
      const written = await projectsOf(env, tenant.id).writeFile(authority, param('id'), at, bytes)
      switch (written.kind) {
        case 'written':
          return Response.json(toFileView(written.file), { status: written.isNew ? 201 : 200 })
        case 'unknown':
          throw notFound()
        case 'forbidden':
          throw forbidden()
        case 'blocked':
          throw new AppError(409, 'conflict', 'A file of the project has a part of this path as its name.', {
            param: 'path',
          })
        case 'too-many':
          throw new AppError(409, 'conflict', 'The project has as many files as it can have. Delete one first.')
        case 'too-large':
          throw new AppError(413, 'body_too_large', 'The files of a project have at most 50 MB together.', {
            param: 'body',
          })
      }
    },
  }),
  route({
    method: 'delete',
    path,
    id: 'deleteProjectFile',
    params,
    scope: 'write',
    tag,
    summary: 'Delete a file of a project',
    responses: { 204: { description: 'Deleted' } },
    handle: async (call) => {
      const { env, tenant, authority, param } = call
      const removed = await projectsOf(env, tenant.id).removeFile(authority, param('id'), parsePath(call))
      if (removed === 'unknown') throw notFound()
      if (removed === 'forbidden') throw forbidden()
      return new Response(null, { status: 204 })
    },
  }),
]
