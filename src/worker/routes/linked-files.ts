/** `/files/{id}`: serves a file of a workspace to everybody who has a valid signed link. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import { isShownInline, mediaTypeOf } from '#agent/core/media/media-type.ts'
import { createTenants } from '#db/tenants.ts'
import { etagOf } from '#durable/platform/etag.ts'
import { openLink } from '#durable/platform/signed-links.ts'
import { notFound } from '../errors.ts'
import { respondWithPart } from '../files/byte-range.ts'
import { fileHeaders, previewHeaders } from '../files/file-response.ts'
import type { OpenRoute, RequestContext } from '../route.ts'
import { addressSession } from '../sessions.ts'
import { errorShape } from '../openapi/error-responses.ts'
import { linkedFileParam } from '../openapi/path-params.ts'

const path = '/files/:id'

export const linkedFileRoutes: readonly OpenRoute[] = [
  {
    method: 'get',
    path,
    id: 'getLinkedFile',
    params: { id: linkedFileParam },
    errors: ['NotFound'],
    scope: null,
    tag: 'Files',
    summary: 'A file by a signed link, which is valid for an hour at most',
    responses: {
      200: { description: 'The file', type: 'application/octet-stream' },
      206: { description: 'The range of bytes that the header `Range` names', type: 'application/octet-stream' },
      304: { description: 'The known version is the current one' },
      416: { description: 'The file has no such bytes', schema: errorShape },
    },
    mount: (app) => void app.get(path, serveLinkedFile),
  },
]

/** Links that are forged, expired or lead nowhere get the same 404. */
async function serveLinkedFile({ req, env }: RequestContext): Promise<Response> {
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
  const found = await addressSession(env, file.tenantId, file.sessionId).files.read(authority, file.path)
  if (found?.kind !== 'file') throw notFound()
  const name = file.path.slice(file.path.lastIndexOf('/') + 1)
  const headers = file.isPreview ? previewHeaders : fileHeaders(getType(found.bytes, name), name)
  return respondWithPart(found.bytes, await etagOf(found.bytes), headers, {
    range: req.header('range'),
    ifRange: req.header('if-range'),
    ifNoneMatch: req.header('if-none-match'),
  })
}

/** Images, sound and video are known by their bytes: a page does not become an image by its name. */
function getType(bytes: Uint8Array, name: string): string {
  const named = mediaTypeOf(name)
  return detectMediaType(bytes)?.mime ?? (isShownInline(named) ? 'application/octet-stream' : named)
}
