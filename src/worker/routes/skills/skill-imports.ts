/** Searches skills of other places, stores them, looks for newer versions of them, and offers own ones to a repository. */

import * as z from 'zod'
import type { SkillContent } from '#agent/core/skills/skill.ts'
import { loadSkillModule } from '#backends/modules.ts'
import type { FetchBytes } from '#backends/skills/protocol.ts'
import { hashFiles } from '#durable/tenant/skills/skill-rows.ts'
import { createTenantFetch } from '#durable/tenant/tenant-fetch.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import { openSecrets } from '#durable/platform/tenant-secrets.ts'
import { variablesOf } from '#durable/platform/variables.ts'
import { sendAction } from '#tools/tool-names.ts'
import { AppError, invalid } from '../../errors.ts'
import { requireAction, requireFetch } from '../../input/require-action.ts'
import { requireStorageAdmission } from '../../limits.ts'
import { type RouteCall, route } from '../../route.ts'
import { requireFound } from '../../sessions.ts'
import { created, ok } from '../../shapes.ts'
import { requireStored, storedSkillShape } from './skill-shapes.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { skillParam } from '../../openapi/path-params.ts'

const tag = 'Skills'
const timeoutMs = 30_000
/** Places are asked one after the other. */
const searchTimeoutMs = 10_000
const maxRequests = 60

const accept = z.boolean().default(false).describe('Store it although the scan asks for caution.')
const importBody = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .meta({
      description: 'A SKILL.md, an archive, a folder on GitHub, or a site with /.well-known/agent-skills/index.json.',
      example: 'https://github.com/acme/skills/tree/main/pull-request',
    }),
  name: z.string().max(64).optional().describe('Which skill, where the address has several.'),
  accept,
})
const updateBody = z.strictObject({ accept })

const updateShape = z.object({
  available: z.boolean().describe('The address has other files than those that were imported.'),
  changed: z.boolean().describe('The skill was changed here since. An update replaces these changes.'),
  hash: z.string().describe('Of the files at the address.'),
})

/** Asked without the setting `skills.sources`. */
const defaultSources = ['https://github.com/anthropics/skills', 'https://github.com/openai/skills', 'https://skills.sh']

const searchQuery = z.strictObject({
  query: z.string().trim().min(1).max(500).describe('Words of the task.'),
  source: importBody.shape.url
    .optional()
    .describe('One place instead of those of skills.sources: a repository on GitHub, a site with an index.'),
})
const foundShape = z.object({
  skills: z
    .array(z.object({ name: z.string(), description: z.string(), url: z.string(), source: z.string() }))
    .describe('The best of each place first. An import takes url and name.'),
  failed: z.array(z.object({ source: z.string(), error: z.string() })).describe('Places that could not be searched.'),
})

type SkillCall = Pick<RouteCall<unknown, unknown>, 'env' | 'tenant' | 'web' | 'authority'>

const skillsOf = ({ env, tenant }: SkillCall) => tenantStub(env, tenant.id).skills

/** Fetches the files of one skill. Throws an error for whatever prevents it. */
async function fetchSkill(call: SkillCall, url: string, name: string | undefined): Promise<readonly SkillContent[]> {
  await requireFetch(call, url, 'url')
  const { importSkill } = await loadSkillModule()
  const outcome = await importSkill({ url, name, fetch: createFetch(call) }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    if (error instanceof Error && error.name === 'BlockedAddress')
      throw new AppError(400, 'blocked_url', reason, { param: 'url' })
    throw invalid(`The address cannot be read: ${reason}`, 'url')
  })
  if (outcome.kind === 'failed') throw invalid(outcome.error, 'url')
  if (outcome.kind === 'choose')
    throw invalid(
      `The address has several skills. Send name, one of: ${outcome.names.slice(0, 100).join(', ')}.`,
      'name',
    )
  return outcome.files
}

function createFetch({ env, tenant, web }: SkillCall, patienceMs = timeoutMs): FetchBytes {
  const guardedFetch = createTenantFetch(env, tenant.id, (work) => web.executionCtx.waitUntil(work))
  let requests = 0
  return async (url, maxBytes) => {
    if (++requests > maxRequests) throw new Error('it needs too many requests')
    const { response, url: last } = await guardedFetch({ url, follow: true, maxBytes, timeoutMs: patienceMs })
    const bytes = new Uint8Array(await response.arrayBuffer())
    return { status: response.status, url: last, contentType: response.headers.get('content-type') ?? '', bytes }
  }
}

async function hashOf(files: readonly SkillContent[]): Promise<string> {
  return hashFiles(await Promise.all(files.map(async ({ path, bytes }) => ({ path, hash: await sha256Hex(bytes) }))))
}

/** The skill and the files that its address has now. */
async function fetchAgain(call: SkillCall, name: string) {
  const skill = requireFound(await skillsOf(call).read(call.authority, name))
  const { origin, head } = skill.summary
  if (origin === undefined) throw new AppError(409, 'conflict', 'The skill was not imported.')
  const files = await fetchSkill(call, origin, skill.choice ?? head.name)
  return { skill, files, origin, hash: await hashOf(files) }
}

const publishBody = z.strictObject({
  repository: z
    .string()
    .regex(/^[\w.-]{1,100}\/[\w.-]{1,100}$/)
    .refine((given) => !given.split('/').some((part) => /^\.+$/.test(part)))
    .meta({ description: 'owner/name on GitHub.', example: 'acme/skills' }),
  secret: z.string().min(1).max(100).default('GITHUB_TOKEN').describe('The secret with a token of GitHub.'),
  folder: z
    .string()
    .max(200)
    .regex(/^(?:[\w-][\w.-]*(?:\/[\w-][\w.-]*)*)?$/)
    .default('skills')
    .describe('Gets the folder of the skill. Empty: the root.'),
  into: z.string().min(1).max(200).optional().describe('The branch. Default: that of the repository.'),
})
const publishedShape = z.object({
  url: z.string().describe('Of the pull request.'),
  number: z.int(),
  created: z.boolean().describe('False: the same contents were offered before.'),
})

async function publish(call: RouteCall<unknown, z.infer<typeof publishBody>>): Promise<Response> {
  const { env, tenant, web, authority, body } = call
  const { repository, secret, folder, into } = body
  await requireAction(
    call,
    { tool: sendAction, input: { target: `github:${repository}` }, isOrdered: true },
    'repository',
  )
  const { summary, files } = requireFound(await skillsOf(call).read(authority, call.param('name')))
  const token = (await openSecrets(env, tenant)).get(secret)
  if (token === undefined) throw invalid(`There is no secret ${secret}: POST /api/secrets.`, 'secret')
  const redactor = redactorFor(env, tenant.id)
  const texts = files.map(({ path, bytes }) => [path, new TextDecoder().decode(bytes)] as const)
  const leak = texts.find(([, text]) => redactor.redact(text) !== text)
  if (leak) throw new AppError(409, 'conflict', `${leak[0]} holds what looks like a secret.`)
  const { publishSkill, PublishError } = await import('./publish-skill.ts')
  const base = variablesOf(env)['GITHUB_API_BASE']
  const { head, hash } = summary
  const published = await publishSkill({
    guardedFetch: createTenantFetch(env, tenant.id, (work) => web.executionCtx.waitUntil(work)),
    base: base ?? 'https://api.github.com',
    isTrusted: base !== undefined,
    token,
    repository,
    into,
    folder,
    name: head.name,
    description: head.description,
    hash,
    files,
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  }).catch((error: unknown) => {
    const reason = error instanceof PublishError ? error.message : 'GitHub did not answer.'
    throw invalid(redactor.redact(reason), 'repository')
  })
  const details = { repository, url: published.url }
  await tenantStub(env, tenant.id).audit.add(authority, { kind: 'skill.published', subject: head.name, details })
  const { isNew, ...shown } = published
  return Response.json({ ...shown, created: isNew }, { status: isNew ? 201 : 200 })
}

const sizeOf = (files: readonly SkillContent[]): number => files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0)

export const skillImportRoutes = [
  route({
    method: 'get',
    path: '/api/skill-search',
    id: 'searchSkillSources',
    // The place may be any address.
    scope: 'write',
    tag,
    summary: 'Search places that offer skills to import',
    query: searchQuery,
    responses: ok('The skills', foundShape),
    handle: async (call) => {
      const { query, source } = call.query
      const { sources = defaultSources } = (await tenantStub(call.env, call.tenant.id).settings.get()).skills ?? {}
      const asked = source === undefined ? [...new Set(sources)] : [source]
      for (const address of asked) await requireFetch(call, address, 'source')
      const { searchSources } = await loadSkillModule()
      return Response.json(await searchSources({ query, sources: asked, fetch: createFetch(call, searchTimeoutMs) }))
    },
  }),
  route({
    method: 'post',
    path: '/api/skills/import',
    id: 'importSkill',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Import a skill from an address, after a security scan',
    body: importBody,
    responses: created('The skill', storedSkillShape),
    handle: async (call) => {
      const { url, name, accept: isCautionAccepted } = call.body
      const files = await fetchSkill(call, url, name)
      await requireStorageAdmission(call, sizeOf(files))
      const result = await skillsOf(call).write(call.authority, {
        files,
        source: 'imported',
        mode: 'create',
        isCautionAccepted,
        origin: { url, choice: name },
      })
      forgetSnapshot(call.tenant.id)
      return Response.json(requireStored(result, 'url'), { status: 201 })
    },
  }),
  route({
    method: 'post',
    path: '/api/skills/:name/publish',
    id: 'sendSkill',
    params: { name: skillParam },
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Offer a skill to a repository on GitHub as a pull request',
    body: publishBody,
    errors: ['Conflict'],
    responses: {
      ...created('The pull request', publishedShape),
      ...ok('The pull request that was open already', publishedShape),
    },
    handle: publish,
  }),
  route({
    method: 'get',
    path: '/api/skills/:name/update',
    id: 'getSkillUpdate',
    params: { name: skillParam },
    scope: 'read',
    tag,
    summary: 'Whether the address of an imported skill has a newer version',
    errors: ['Conflict'],
    responses: ok('The comparison', updateShape),
    handle: async (call) => {
      const { skill, hash } = await fetchAgain(call, call.param('name'))
      return Response.json({
        available: hash !== skill.importedHash,
        changed: skill.summary.hash !== skill.importedHash,
        hash,
      })
    },
  }),
  route({
    method: 'post',
    path: '/api/skills/:name/update',
    id: 'importSkillUpdate',
    params: { name: skillParam },
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Replace an imported skill by what its address has now',
    body: updateBody,
    responses: ok('The skill', storedSkillShape),
    handle: async (call) => {
      const name = call.param('name')
      const { skill, files, origin } = await fetchAgain(call, name)
      await requireStorageAdmission(call, sizeOf(files))
      const result = await skillsOf(call).write(call.authority, {
        name,
        files,
        source: 'imported',
        mode: 'replace',
        isCautionAccepted: call.body.accept,
        origin: { url: origin, choice: skill.choice },
      })
      forgetSnapshot(call.tenant.id)
      return Response.json(requireStored(result, 'url'))
    },
  }),
]
