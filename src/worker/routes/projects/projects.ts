/** `/api/projects`: sessions with common instructions, files, a default model and members. */

import * as z from 'zod'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { modelId } from '#agent/core/request/turn-settings.ts'
import { roleName } from '#agent/core/settings.ts'
import { openHistory } from '#db/history.ts'
import { createTenants } from '#db/tenants.ts'
import {
  everyKey,
  type Project,
  projectAccesses,
  type ProjectFile,
  type ProjectMember,
  projectsOf,
} from '#durable/tenant/projects/project.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { pageByPosition } from '../../input/page.ts'
import { requireHarmless } from '../../input/prompt-settings.ts'
import { resolveRequestedModel } from '../../input/requested-model.ts'
import { adminKeyId } from '../../login/key-identity.ts'
import { projectParam } from '../../openapi/path-params.ts'
import { type RouteCall, route } from '../../route.ts'
import { nameSchemas } from '../../schema-names.ts'
import { addressSession, requireFound } from '../../sessions.ts'
import { created, listOf, longPageQuery, ok } from '../../shapes.ts'

const tag = 'Projects'
const maxInstructionChars = 20_000
const maxMembers = 100

const access = z
  .enum(projectAccesses)
  .describe('`use`: see it and have sessions in it. `edit`: change it. `manage`: change members, and delete it.')
const member = z.union([
  z.strictObject({ role: z.union([roleName, z.literal(everyKey)]).describe('A role, or `*` for all keys.'), access }),
  z.strictObject({ key: z.string().min(1).max(200).describe('The id of a key, or `login:…` of a person.'), access }),
])
const name = z.string().trim().min(1).max(100)
const instructions = z.string().max(maxInstructionChars)
const members = z.array(member).max(maxMembers)

export const projectFileShape = z.object({
  path: z.string(),
  size: z.int(),
  updated_at: z.iso.datetime(),
  written_by: z.string().describe('`key:<id>` or another principal.'),
})
const projectShape = z.object({
  id: z.string(),
  name: z.string(),
  instructions: z.string().describe('A part of the prompts of its sessions.'),
  model: z.string().nullable().describe('Of new sessions that name none.'),
  access: access.describe('Of the key that asks.'),
  members: z.array(z.union([z.object({ role: z.string(), access }), z.object({ key: z.string(), access })])),
  files: z.array(projectFileShape).describe('Sessions have copies of them in the folder `project/`.'),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
})
nameSchemas(
  { Project: projectShape, ProjectFile: projectFileShape },
  {
    Project: {
      id: projectParam.example,
      name: 'Family trips',
      instructions: 'Answer in metric units.',
      access: 'manage',
    },
    ProjectFile: { path: 'budget.csv', size: 5_120, written_by: 'key:k7q2m5x3a6b4c2de' },
  },
)

const iso = (ms: number): string => new Date(ms).toISOString()

export const toFileView = ({ path, bytes, updatedAt, writtenBy }: ProjectFile) => ({
  path,
  size: bytes,
  updated_at: iso(updatedAt),
  written_by: writtenBy,
})

const toView = ({ createdAt, updatedAt, files, ...project }: Project) => ({
  ...project,
  files: files.map(toFileView),
  created_at: iso(createdAt),
  updated_at: iso(updatedAt),
})

type Call = RouteCall<unknown, unknown>

export const forbidden = () =>
  new AppError(403, 'policy', 'The key is a member of this project who may not change this.', { param: 'id' })

/** Refuses members that nobody could be, because a mistake would stay unseen. */
async function requireMembers({ env, tenant }: Call, given: readonly ProjectMember[]): Promise<void> {
  const { roles = {} } = tenant.settings
  const unknownRole = given.find((one) => 'role' in one && one.role !== everyKey && !Object.hasOwn(roles, one.role))
  if (unknownRole && 'role' in unknownRole) throw invalid(`There is no role ${unknownRole.role}.`, 'members')
  const keys = given.flatMap((one) => ('key' in one && !one.key.startsWith('login:') ? [one.key] : []))
  if (!keys.length) return
  const known = new Set([adminKeyId, ...(await createTenants(env.DB).listKeys(tenant.id)).map(({ id }) => id)])
  const unknown = keys.find((key) => !known.has(key))
  if (unknown !== undefined) throw invalid(`There is no key ${unknown}.`, 'members')
}

type Fields = {
  readonly instructions?: string | undefined
  readonly model?: string | null | undefined
  readonly members?: readonly ProjectMember[] | undefined
}

async function requireFields(call: Call, fields: Fields): Promise<void> {
  if (fields.instructions) requireHarmless(fields.instructions, 'instructions')
  if (fields.model) resolveRequestedModel(fields.model, call.env, call.tenant)
  if (fields.members) await requireMembers(call, fields.members)
}

/** Deletions of more sessions go on with the next request. */
const maxMoved = 500
const pageSize = 100

/** Its sessions stay, outside of any project. */
async function releaseSessions({ env, tenant, authority }: Call, id: string): Promise<void> {
  const mover = systemAuthority(tenant.id, { kind: 'job', id: 'projects' }, authority.scopes)
  const history = openHistory(env, tenant.id)
  for (let moved = 0; moved < maxMoved; moved += pageSize) {
    const { data } = await history.listSessions({ project: id, limit: pageSize })
    await Promise.all(data.map((one) => addressSession(env, tenant.id, one.id).info.update(mover, { projectId: null })))
    if (data.length < pageSize) return
  }
}

export const projectRoutes = [
  route({
    method: 'get',
    path: '/api/projects',
    id: 'listProjects',
    scope: 'read',
    tag,
    summary: 'The projects of which the key is a member, by name',
    query: z.strictObject(longPageQuery),
    responses: ok('Projects', listOf(projectShape)),
    handle: async ({ env, tenant, authority, query }) => {
      const page = pageByPosition(await projectsOf(env, tenant.id).list(authority), query)
      return Response.json({ ...page, data: page.data.map(toView) })
    },
  }),
  route({
    method: 'post',
    path: '/api/projects',
    id: 'createProject',
    scope: 'write',
    tag,
    summary: 'Create a project; the key manages it',
    example: { name: 'Family trips', instructions: 'Answer in metric units.' },
    body: z.strictObject({
      name,
      instructions: instructions.default(''),
      model: modelId.nullable().default(null),
      members: members.default([]).describe('Beside the key that creates it.'),
    }),
    responses: created('The project', projectShape),
    handle: async (call) => {
      const { env, tenant, authority, body } = call
      await requireFields(call, body)
      const id = `proj_${crypto.randomUUID().replaceAll('-', '')}`
      const project = await projectsOf(env, tenant.id).create(authority, id, body)
      if (project === 'foreign') throw notFound()
      if (project === 'full') throw new AppError(409, 'conflict', 'There are too many projects. Delete one first.')
      return Response.json(toView(project), { status: 201 })
    },
  }),
  route({
    method: 'get',
    path: '/api/projects/:id',
    id: 'getProject',
    params: { id: projectParam },
    scope: 'read',
    tag,
    summary: 'A project with its instructions, members and files',
    responses: ok('The project', projectShape),
    handle: async ({ env, tenant, authority, param }) =>
      Response.json(toView(requireFound(await projectsOf(env, tenant.id).find(authority, param('id'))))),
  }),
  route({
    method: 'patch',
    path: '/api/projects/:id',
    id: 'updateProject',
    params: { id: projectParam },
    scope: 'write',
    tag,
    summary: 'Change name, instructions, model or members',
    example: { instructions: 'Answer in metric units.' },
    body: z.strictObject({
      name: name.optional(),
      instructions: instructions.optional().describe('Sessions get them with their next prompt.'),
      model: modelId.nullable().optional(),
      members: members.optional().describe('Replaces all members.'),
    }),
    responses: ok('The project', projectShape),
    handle: async (call) => {
      const { env, tenant, authority, param, body } = call
      const projects = projectsOf(env, tenant.id)
      requireFound(await projects.find(authority, param('id')))
      await requireFields(call, body)
      const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
      const project = await projects.update(authority, param('id'), given)
      if (project === 'unknown') throw notFound()
      if (project === 'forbidden') throw forbidden()
      return Response.json(toView(project))
    },
  }),
  route({
    method: 'delete',
    path: '/api/projects/:id',
    id: 'deleteProject',
    params: { id: projectParam },
    scope: 'write',
    tag,
    summary: 'Delete a project and its files; its sessions stay',
    responses: { 204: { description: 'Deleted' } },
    handle: async (call) => {
      const { env, tenant, authority, param } = call
      const projects = projectsOf(env, tenant.id)
      const { access: held } = requireFound(await projects.find(authority, param('id')))
      if (held !== 'manage') throw forbidden()
      await releaseSessions(call, param('id'))
      const removed = await projects.remove(authority, param('id'))
      if (removed === 'unknown') throw notFound()
      if (removed === 'forbidden') throw forbidden()
      return new Response(null, { status: 204 })
    },
  }),
]
