/** `POST /api/sessions/delete`: deletes several sessions. */

import * as z from 'zod'
import { sessionNamePattern } from '#agent/core/session-name.ts'
import { log } from '#agent/core/log.ts'
import { route } from '../../route.ts'
import { addressSession } from '../../sessions.ts'
import { ok } from '../../shapes.ts'

const ids = z.array(z.string())
/** Each deletion is a request to an object. */
const maxConcurrent = 6

export const deleteSessionsRoutes = [
  route({
    method: 'post',
    path: '/api/sessions/delete',
    id: 'deleteSessions',
    scope: 'write',
    tag: 'Sessions',
    summary: 'Delete several sessions and everything that belongs to them',
    example: { ids: ['ses_9f2c'] },
    body: z.strictObject({ ids: z.array(z.string().min(1).max(300)).min(1).max(100) }),
    responses: ok(
      'What was deleted',
      z.object({
        deleted: ids,
        missing: ids.describe('There are no such sessions.'),
        failed: ids.describe('They could not be deleted now; try again.'),
      }),
    ),
    handle: async ({ env, authority, tenant, body }) => {
      const outcomes = { deleted: new Array<string>(), missing: new Array<string>(), failed: new Array<string>() }
      const open = [...new Set(body.ids)]
      const remove = async (id: string): Promise<keyof typeof outcomes> => {
        if (!sessionNamePattern.test(id)) return 'missing'
        try {
          return (await addressSession(env, tenant.id, id).info.delete(authority, true)) ? 'deleted' : 'missing'
        } catch (error) {
          log.warn('session.undeleted', 'A session of a list cannot be deleted now.', { error, session_id: id })
          return 'failed'
        }
      }
      const removeNext = async () => {
        for (let id = open.shift(); id !== undefined; id = open.shift()) outcomes[await remove(id)].push(id)
      }
      await Promise.all(Array.from({ length: maxConcurrent }, removeNext))
      return Response.json(outcomes)
    },
  }),
]
