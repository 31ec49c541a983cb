/** `/api/skills/{name}/files/…`: reads, writes and deletes files of a skill. */

import { explainBadSkillPath, skillFile } from '#agent/skills/skill-names.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { invalid } from '../../errors.ts'
import { respondWithFile } from '../../files/file-response.ts'
import { readBytes } from '../../input/body.ts'
import { requireStorageAdmission } from '../../limits.ts'
import { type RouteCall, route } from '../../route.ts'
import { requireFound } from '../../sessions.ts'
import { ok } from '../../shapes.ts'
import { requireStored, storedSkillShape } from './skill-shapes.ts'
import * as z from 'zod'
import { skillParam, pathParam } from '../../openapi/path-params.ts'

const path = '/api/skills/:name/files/:path{.*}'
const segmentsBeforePath = path.split('/').length - 1
const tag = 'Skills'

const acceptQuery = z.strictObject({
  accept: z.enum(['true', 'false']).optional().describe('true stores it although the scan asks for caution.'),
})

/** Throws 404 for a path that no file of a skill can have. */
function parsePath({ web }: RouteCall<unknown, unknown>): string {
  const raw = new URL(web.req.url).pathname.split('/').slice(segmentsBeforePath).join('/')
  let decoded: string
  try {
    decoded = decodeURIComponent(raw)
  } catch {
    throw invalid('The path is not valid percent-encoding.', 'path')
  }
  const bad = explainBadSkillPath(decoded)
  if (bad !== undefined) throw invalid(bad, 'path')
  return decoded
}

const skillsOf = ({ env, tenant }: RouteCall<unknown, unknown>) => tenantStub(env, tenant.id).skills

export const skillFileRoutes = [
  route({
    method: 'get',
    path,
    id: 'getSkillFile',
    params: { name: skillParam, path: pathParam },
    scope: 'read',
    tag,
    summary: 'Read a file of a skill',
    responses: { 200: { description: 'The bytes of the file', type: 'application/octet-stream' } },
    handle: async (call) => {
      const skill = requireFound(await skillsOf(call).read(call.authority, call.param('name')))
      const wanted = parsePath(call)
      const file = requireFound(skill.files.find((one) => one.path === wanted))
      return respondWithFile(file.bytes, 'application/octet-stream', wanted.split('/').at(-1) ?? wanted)
    },
  }),
  route({
    method: 'put',
    path,
    id: 'writeSkillFile',
    params: { name: skillParam, path: pathParam },
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: "Write a file of one of the tenant's own skills; the body is its bytes",
    query: acceptQuery,
    bytes: true,
    responses: ok('The skill', storedSkillShape),
    handle: async (call) => {
      const bytes = await readBytes(call.web.req.raw)
      const name = call.param('name')
      requireFound(await skillsOf(call).read(call.authority, name))
      const wanted = parsePath(call)
      await requireStorageAdmission(call, bytes.byteLength)
      const file = { path: wanted, bytes, isCautionAccepted: call.query.accept === 'true' }
      const result = await skillsOf(call).writeFile(call.authority, name, file)
      forgetSnapshot(call.tenant.id)
      return Response.json(requireStored(result, 'body'))
    },
  }),
  route({
    method: 'delete',
    path,
    id: 'deleteSkillFile',
    params: { name: skillParam, path: pathParam },
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: "Delete a file of one of the tenant's own skills",
    responses: { 204: { description: 'Deleted' } },
    handle: async (call) => {
      const name = call.param('name')
      requireFound(await skillsOf(call).read(call.authority, name))
      const wanted = parsePath(call)
      if (wanted === skillFile) throw invalid(`${skillFile} is the skill itself. Delete the whole skill.`, 'path')
      const file = { path: wanted, bytes: undefined, isCautionAccepted: true }
      requireStored(await skillsOf(call).writeFile(call.authority, name, file), 'path')
      forgetSnapshot(call.tenant.id)
      return new Response(null, { status: 204 })
    },
  }),
]
