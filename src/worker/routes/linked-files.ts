/** `/files/{id}`: serves a file of a workspace to everybody who has a valid signed link. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import { isShownInline, mediaTypeOf } from '#agent/core/media/media-type.ts'
import { createTenants } from '#db/tenants.ts'
import { etagOf } from '#durable/platform/etag.ts'
import { type LinkedFile, openLink } from '#durable/platform/signed-links.ts'
import { respondWithPart } from '../files/byte-range.ts'
import { fileHeaders, previewHeaders } from '../files/file-response.ts'
import { renderScriptPreview, scriptPreviewHeaders } from '../files/script-preview.ts'
import { deadLink } from '../files/plain-page.ts'
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
async function serveLinkedFile(context: RequestContext): Promise<Response> {
  const { req, env } = context
  const { exp = '', sig = '' } = req.query()
  const file = await openLink(env, { id: req.param('id') ?? '', exp, sig }, Date.now())
  if (!file || !isPlaced(file, req.header('sec-fetch-dest'))) return deadLink(context)
  const tenant = await createTenants(env.DB).get(file.tenantId)
  if (tenant?.status !== 'active') return deadLink(context)
  const found = await readLinked(env, file)
  if (!found || !('kind' in found) || found.kind !== 'file') return deadLink(context)
  const { bytes, headers } = contentOf(file, found.bytes)
  return respondWithPart(bytes, await etagOf(bytes), headers, {
    range: req.header('range'),
    ifRange: req.header('if-range'),
    ifNoneMatch: req.header('if-none-match'),
  })
}

/** Only in a frame of our page the policy of that page keeps a page with scripts from going elsewhere. */
const isPlaced = ({ preview }: LinkedFile, destination: string | undefined): boolean =>
  !preview?.scripts || destination === 'iframe'

function readLinked(env: Env, { tenantId, sessionId, path: at, preview }: LinkedFile) {
  const authority: Authority = {
    tenantId,
    principal: { kind: 'key', id: 'link' },
    scopes: ['read'],
    taint: 'none',
  }
  const session = addressSession(env, tenantId, sessionId)
  return preview?.run === undefined
    ? session.files.read(authority, at)
    : session.checkpoints.read(authority, at, preview.run)
}

function contentOf({ path: at, preview }: LinkedFile, bytes: Uint8Array) {
  const name = at.slice(at.lastIndexOf('/') + 1)
  if (!preview) return { bytes, headers: fileHeaders(getType(bytes, name), name) }
  if (!preview.scripts) return { bytes, headers: previewHeaders }
  return { bytes: renderScriptPreview(bytes), headers: scriptPreviewHeaders }
}

/** Images, sound and video are known by their bytes: a page does not become an image by its name. */
function getType(bytes: Uint8Array, name: string): string {
  const named = mediaTypeOf(name)
  return detectMediaType(bytes)?.mime ?? (isShownInline(named) ? 'application/octet-stream' : named)
}
