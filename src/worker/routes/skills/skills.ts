/** `/api/skills` and `/v1/skills`: lists, writes, marks, exports and deletes skills of a tenant. */

import * as z from 'zod'
import { skillFile } from '#agent/skills/skill-names.ts'
import { pack, toStream } from '#backends/tar.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { AppError } from '../../errors.ts'
import { pageByPosition } from '../../input/page.ts'
import { requireStorageAdmission } from '../../limits.ts'
import { type RouteCall, route } from '../../route.ts'
import { requireFound } from '../../sessions.ts'
import { created, listOf, longPageQuery, ok } from '../../shapes.ts'
import { fullSkillShape, requireStored, skillShape, storedSkillShape, toSkillView } from './skill-shapes.ts'
import { skillParam } from '../../openapi/path-params.ts'

const tag = 'Skills'
const accept = z.boolean().default(false).describe('Store it although the scan asks for caution.')
const content = z
  .string()
  .min(1)
  .max(400_000)
  .describe('A SKILL.md: front matter with name and description, then instructions.')

const newSkill = z.strictObject({ name: z.string().max(200), content, accept })
const replacement = z.strictObject({ content, accept })
const marks = z.strictObject({
  pinned: z.boolean().optional().describe('A pinned skill is never archived or deleted.'),
  archived: z.boolean().optional().describe('false restores it.'),
})

const listQuery = z.strictObject({
  ...longPageQuery,
  category: z.string().max(40).optional().describe('Only skills of this category.'),
  archived: z.enum(['true', 'false']).optional().describe('Default: both.'),
})

const skillsOf = ({ env, tenant }: Pick<RouteCall<unknown, unknown>, 'env' | 'tenant'>) =>
  tenantStub(env, tenant.id).skills

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const skillExample =
  '---\nname: release-notes\ndescription: Writes the notes of a release.\n---\n\nRead the commits first.\n'

export const skillRoutes = [
  route({
    method: 'get',
    path: '/v1/skills',
    id: 'listOfferedSkills',
    scope: 'read',
    tag,
    summary: 'Skills that sessions are offered',
    responses: ok(
      'OpenAI list',
      z.object({
        object: z.literal('list'),
        data: z.array(skillShape.pick({ name: true, description: true, category: true, source: true })),
      }),
    ),
    handle: async (call) => {
      const skills = await skillsOf(call).list(call.authority)
      const data = skills
        .filter(({ archivedAt }) => archivedAt === undefined)
        .map(({ head: { name, description, category }, source }) => ({ name, description, category, source }))
      return Response.json({ object: 'list', data })
    },
  }),
  route({
    method: 'get',
    path: '/api/skills',
    id: 'listSkills',
    scope: 'read',
    tag,
    summary: 'Skills of the tenant, bundled ones included',
    query: listQuery,
    responses: ok('Skills by name', listOf(skillShape)),
    handle: async (call) => {
      const { category, archived } = call.query
      const all = (await skillsOf(call).list(call.authority)).map(toSkillView)
      const wanted = all.filter(
        (one) =>
          (category === undefined || one.category === category) &&
          (archived === undefined || one.archived === (archived === 'true')),
      )
      return Response.json(pageByPosition(wanted, call.query))
    },
  }),
  route({
    method: 'post',
    path: '/api/skills',
    id: 'createSkill',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Create a skill; it replaces a bundled one of the same name',
    example: { name: 'release-notes', content: skillExample },
    body: newSkill,
    responses: created('The skill', storedSkillShape),
    handle: async (call) => {
      const { name, content: text, accept: isCautionAccepted } = call.body
      await requireStorageAdmission(call, text.length)
      const result = await skillsOf(call).write(call.authority, {
        name,
        files: [{ path: skillFile, bytes: encode(text) }],
        source: 'user',
        mode: 'create',
        isCautionAccepted,
      })
      forgetSnapshot(call.tenant.id)
      return Response.json(requireStored(result, 'content'), { status: 201 })
    },
  }),
  route({
    method: 'get',
    path: '/api/skills/:name',
    id: 'getSkill',
    params: { name: skillParam },
    scope: 'read',
    tag,
    summary: 'A skill with its instructions and the list of its files',
    responses: ok('The skill', fullSkillShape),
    handle: async (call) => {
      const { summary, files, listed } = requireFound(await readSkill(call))
      const main = files.find(({ path }) => path === skillFile)
      const text = new TextDecoder().decode(main?.bytes)
      return Response.json({ ...toSkillView(summary), content: text, files: listed })
    },
  }),
  route({
    method: 'put',
    path: '/api/skills/:name',
    id: 'replaceSkill',
    params: { name: skillParam },
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: "Replace the instructions of one of the tenant's own skills; its other files stay",
    example: { content: skillExample },
    body: replacement,
    responses: ok('The skill', storedSkillShape),
    handle: async (call) => {
      const { content: text, accept: isCautionAccepted } = call.body
      await requireStorageAdmission(call, text.length)
      const file = { path: skillFile, bytes: encode(text), isCautionAccepted }
      const result = await skillsOf(call).writeFile(call.authority, call.param('name'), file)
      forgetSnapshot(call.tenant.id)
      return Response.json(requireStored(result, 'content'))
    },
  }),
  route({
    method: 'patch',
    path: '/api/skills/:name',
    id: 'updateSkill',
    params: { name: skillParam },
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Pin, unpin, archive or restore a skill, bundled ones included',
    body: marks,
    responses: ok('The skill', skillShape),
    handle: async (call) => {
      const { pinned: isPinned, archived: isArchived } = call.body
      const summary = await skillsOf(call).mark(call.authority, call.param('name'), { isPinned, isArchived })
      forgetSnapshot(call.tenant.id)
      return Response.json(toSkillView(requireFound(summary)))
    },
  }),
  route({
    method: 'delete',
    path: '/api/skills/:name',
    id: 'deleteSkill',
    params: { name: skillParam },
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: "Delete one of the tenant's own skills; a bundled one that it replaced is offered again",
    responses: { 204: { description: 'Deleted' } },
    handle: async (call) => {
      const removed = await skillsOf(call).remove(call.authority, call.param('name'))
      if (removed === 'pinned')
        throw new AppError(409, 'conflict', 'The skill is pinned. Unpin it first: PATCH {"pinned": false}.')
      requireFound(removed || undefined)
      forgetSnapshot(call.tenant.id)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'get',
    path: '/api/skills/:name/export',
    id: 'getSkillArchive',
    params: { name: skillParam },
    scope: 'read',
    tag,
    summary: 'All files of a skill as a tar archive, which an import reads',
    responses: { 200: { description: 'A tar archive with one folder', type: 'application/x-tar' } },
    handle: async (call) => {
      const { summary, files } = requireFound(await readSkill(call))
      const { name } = summary.head
      const entries = files.map(({ path, bytes }) => ({
        kind: 'file' as const,
        path: `${name}/${path}`,
        mode: 0o644,
        modified: summary.updatedAt,
        bytes: bytes as Uint8Array<ArrayBuffer>,
      }))
      return new Response(toStream(pack(entries)), {
        headers: {
          'content-type': 'application/x-tar',
          'content-disposition': `attachment; filename="${name}.tar"`,
          'x-content-type-options': 'nosniff',
        },
      })
    },
  }),
]

async function readSkill(call: RouteCall<unknown, unknown>) {
  const found = await skillsOf(call).read(call.authority, call.param('name'))
  return found && { summary: found.summary, files: found.files, listed: found.listed }
}
