/** `/files/{id}`: serves a file of a workspace to everybody who has a valid signed link. */

import type { Authority } from '../../agent/model/permission/authority.ts'
import { mediaTypeOf } from '../../agent/model/media/media-type.ts'
import { createTenants } from '../../db/tenants.ts'
import { openLink } from '../../durable/platform/signed-links.ts'
import { notFound } from '../errors.ts'
import { respondWithFile } from '../files/file-response.ts'
import type { OpenRoute, Web } from '../route.ts'
import { sessionStub } from '../sessions.ts'

const path = '/files/:id'

export const linkedFileRoutes: readonly OpenRoute[] = [
  {
    method: 'get',
    path,
    scope: null,
    tag: 'Files',
    summary: 'A file by a signed link, which is valid for an hour at most',
    responses: { 200: { description: 'The file', type: 'application/octet-stream' } },
    mount: (app) => void app.get(path, serveLinkedFile),
  },
]

/** Links that are forged, expired or lead nowhere get the same 404. */
async function serveLinkedFile({ req, env }: Web): Promise<Response> {
  const { exp = '', sig = '' } = req.query()
  const file = await openLink(env, { id: req.param('id') ?? '', exp, sig }, Date.now())
  if (!file) throw notFound()
  const tenant = await createTenants(env.DB).get(file.tenantId)
  if (tenant?.status !== 'active') throw notFound()
  const authority: Authority = {
    tenantId: file.tenantId,
    principal: { kind: 'key', id: 'link' },
    scopes: ['read'],
    taint: 'none',
  }
  const found = await sessionStub(env, file.tenantId, file.sessionId).files.read(authority, file.path)
  if (found?.kind !== 'file') throw notFound()
  return respondWithFile(found.bytes, mediaTypeOf(file.path), file.path.slice(file.path.lastIndexOf('/') + 1))
}
