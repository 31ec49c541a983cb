/** `/api/sessions/{id}/attachments/{id}`: the images that messages of a session show. */

import { respondWithFile } from '../files/file-response.ts'
import { route } from '../route.ts'
import { requireFound, addressSession } from '../sessions.ts'
import { attachmentParam, sessionParam } from '../openapi/path-params.ts'

export const attachmentRoutes = [
  route({
    method: 'get',
    path: '/api/sessions/:id/attachments/:attachment',
    id: 'getSessionAttachment',
    params: { id: sessionParam, attachment: attachmentParam },
    scope: 'read',
    tag: 'Files',
    summary: 'An image of a message',
    responses: { 200: { description: 'The image', type: 'application/octet-stream' } },
    handle: async ({ env, authority, tenant, param }) => {
      const id = param('attachment')
      const found = await addressSession(env, tenant.id, param('id')).history.attachment(authority, id)
      const { bytes, mediaType } = requireFound(found ?? undefined)
      return respondWithFile(bytes, mediaType, id)
    },
  }),
]
