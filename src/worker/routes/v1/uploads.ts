/** `/v1/files`: files of a tenant that messages name by their id. They are stored in R2. */

import * as z from 'zod'
import { mediaTypeOf } from '#agent/core/media/media-type.ts'
import { readForm } from '../../input/form.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { respondWithFile } from '../../files/file-response.ts'
import { requireStorageAdmission } from '../../limits.ts'
import { type RouteCall, route } from '../../route.ts'
import { pageLimit, ok } from '../../shapes.ts'
import {
  findUpload,
  isExpired,
  parseUpload,
  requireBlobs,
  type Upload,
  uploadKey,
  uploadPrefix,
} from '../../files/uploads.ts'
import { nameSchemas } from '../../schema-names.ts'
import { fileParam } from '../../openapi/path-params.ts'

const tag = 'OpenAI'

const fileShape = z.object({
  id: z.string(),
  object: z.literal('file'),
  bytes: z.int(),
  created_at: z.int().describe('Seconds since 1970.'),
  filename: z.string(),
  purpose: z.string(),
  status: z.literal('processed'),
  expires_at: z.int().optional().describe('Seconds since 1970. Absent: it stays until it is deleted.'),
})
nameSchemas(
  { UploadedFile: fileShape },
  { UploadedFile: { id: fileParam.example, bytes: 5_120, filename: 'report.md', purpose: 'assistants' } },
)

const listShape = z.object({
  object: z.literal('list'),
  data: z.array(fileShape),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
})

const toFileObject = ({ id, bytes, createdAt, name, purpose, expiresAt }: Upload) => ({
  id,
  object: 'file' as const,
  bytes,
  created_at: Math.floor(createdAt / 1_000),
  filename: name,
  purpose,
  status: 'processed' as const,
  ...(expiresAt !== undefined && { expires_at: Math.floor(expiresAt / 1_000) }),
})

export const uploadRoutes = [
  route({
    method: 'post',
    path: '/v1/files',
    id: 'createFile',
    scope: 'chat',
    tag,
    summary: 'Upload a file (multipart/form-data with `file`, `purpose` and `expires_after`)',
    description: 'Uploads a file of at most 10 MB. Its id can be used as `file_id` in messages.',
    errors: ['NotConfigured'],
    bytes: true,
    responses: ok('The file', fileShape),
    handle: createUpload,
  }),
  route({
    method: 'get',
    path: '/v1/files',
    id: 'listFiles',
    scope: 'read',
    tag,
    summary: 'Uploaded files',
    errors: ['NotConfigured'],
    query: z.object({
      limit: pageLimit(10_000).default(100),
      after: z.string().max(100).optional().describe('The id of the last file of the page before.'),
      order: z.enum(['asc', 'desc']).default('desc').describe('By time; desc: newest first.'),
      purpose: z
        .string()
        .max(64)
        .optional()
        .meta({ description: 'Only files of this purpose.', example: 'assistants' }),
    }),
    responses: ok('OpenAI list', listShape),
    handle: async ({ env, tenant, query }) => {
      const { uploads, hasMore } = await listUploads(env, tenant.id, query)
      const data = uploads.map(toFileObject)
      const [first, last] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
      return Response.json({ object: 'list', data, first_id: first, last_id: last, has_more: hasMore })
    },
  }),
  route({
    method: 'get',
    path: '/v1/files/:id',
    id: 'getFile',
    params: { id: fileParam },
    scope: 'read',
    tag,
    summary: 'One uploaded file',
    errors: ['NotConfigured'],
    responses: ok('The file', fileShape),
    handle: async ({ env, tenant, param }) =>
      Response.json(toFileObject(await findUpload(env, tenant.id, param('id')))),
  }),
  route({
    method: 'get',
    path: '/v1/files/:id/content',
    id: 'getFileContent',
    params: { id: fileParam },
    scope: 'read',
    tag,
    summary: 'The bytes of an uploaded file',
    errors: ['NotConfigured'],
    responses: { 200: { description: 'The bytes', type: 'application/octet-stream' } },
    handle: async ({ env, tenant, param }) => {
      const { name, key } = await findUpload(env, tenant.id, param('id'))
      const object = await requireBlobs(env).get(key)
      if (!object) throw notFound()
      return respondWithFile(new Uint8Array(await object.arrayBuffer()), mediaTypeOf(name), name)
    },
  }),
  route({
    method: 'delete',
    path: '/v1/files/:id',
    id: 'deleteFile',
    params: { id: fileParam },
    scope: 'write',
    tag,
    summary: 'Delete an uploaded file; copies in workspaces stay',
    errors: ['NotConfigured'],
    responses: ok('Deleted', z.object({ id: z.string(), object: z.literal('file'), deleted: z.literal(true) })),
    handle: async ({ env, tenant, param }) => {
      const { id, key } = await findUpload(env, tenant.id, param('id'))
      await requireBlobs(env).delete(key)
      return Response.json({ id, object: 'file', deleted: true })
    },
  }),
]

async function createUpload(call: RouteCall<unknown, unknown>): Promise<Response> {
  const { env, tenant, web } = call
  const blobs = requireBlobs(env)
  const form = await readForm(web.req.raw, 'file')
  const file = form.get('file')
  if (!(file instanceof File)) throw invalid('Send the file as the field `file` of multipart/form-data.', 'file')
  const [purpose, now, name] = [readPurpose(form), Date.now(), cleanName(file.name)]
  const expiresAfterMs = readExpiry(form)
  await requireStorageAdmission(call, file.size)
  const upload: Upload = {
    ...uploadKey(tenant.id, now),
    name,
    purpose,
    bytes: file.size,
    createdAt: now,
    ...(expiresAfterMs !== undefined && { expiresAt: now + expiresAfterMs }),
  }
  // Custom metadata is ASCII.
  const customMetadata = {
    name: encodeURIComponent(name),
    purpose,
    at: `${now}`,
    ...(upload.expiresAt !== undefined && { expires: `${upload.expiresAt}` }),
  }
  await blobs.put(upload.key, await file.arrayBuffer(), { customMetadata })
  return Response.json(toFileObject(upload))
}

/** Purposes of files that messages name. `assistants` is what older clients send. */
const purposes = ['user_data', 'assistants', 'vision']

function readPurpose(form: FormData): string {
  const purpose = form.get('purpose') ?? 'user_data'
  if (typeof purpose === 'string' && purposes.includes(purpose)) return purpose
  const message = `Files are for messages: purpose is one of ${purposes.join(', ')}. Batches and training do not exist here.`
  throw new AppError(400, 'unsupported', message, { param: 'purpose' })
}

const [minExpirySeconds, maxExpirySeconds] = [3_600, 2_592_000]

/** SDKs send the object as fields with brackets. */
function readExpiry(form: FormData): number | undefined {
  const [anchor, seconds] = [form.get('expires_after[anchor]'), form.get('expires_after[seconds]')]
  if (anchor === null && seconds === null) return undefined
  const value = typeof seconds === 'string' && /^\d{1,10}$/.test(seconds) ? Number(seconds) : 0
  if (anchor === 'created_at' && value >= minExpirySeconds && value <= maxExpirySeconds) return value * 1_000
  const message = `expires_after: anchor created_at, and ${minExpirySeconds} to ${maxExpirySeconds} seconds.`
  throw invalid(message, 'expires_after')
}

/** The last part of the name, without control characters. */
const cleanName = (name: string): string =>
  (
    name
      .toWellFormed()
      .replace(/[\p{Cc}\p{Cf}]/gu, '')
      .split(/[/\\]/)
      .at(-1) ?? ''
  )
    .slice(0, 200)
    .toWellFormed() || 'file'

type UploadQuery = {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The id of the last upload of the page before. */
  readonly after?: string | undefined
  readonly purpose?: string | undefined
}

/** R2 lists keys newest first, so oldest first needs all of them. More than this are not sorted. */
const maxSorted = 10_000

/** Lists the uploads of a tenant in pages, and deletes the expired ones that it meets. */
async function listUploads(
  env: Env,
  tenantId: string,
  { limit, order, after, purpose }: UploadQuery,
): Promise<{ readonly uploads: readonly Upload[]; readonly hasMore: boolean }> {
  const isAscending = order === 'asc'
  const uploads: Upload[] = []
  for await (const upload of readUploads(env, tenantId, isAscending ? undefined : after)) {
    if (purpose === undefined || upload.purpose === purpose) uploads.push(upload)
    if (uploads.length > (isAscending ? maxSorted : limit)) break
  }
  if (!isAscending) return { uploads: uploads.slice(0, limit), hasMore: uploads.length > limit }
  const sorted = uploads.toReversed()
  // Newer uploads have smaller ids (uploadKey). The last one of the page before may be deleted.
  const rest = after === undefined ? sorted : sorted.filter(({ id }) => id < after)
  return { uploads: rest.slice(0, limit), hasMore: rest.length > limit }
}

async function* readUploads(env: Env, tenantId: string, after: string | undefined): AsyncGenerator<Upload> {
  const blobs = requireBlobs(env)
  const prefix = uploadPrefix(tenantId)
  const options: R2ListOptions = { prefix, include: ['customMetadata'] }
  let page = await blobs.list({ ...options, ...(after !== undefined && { startAfter: prefix + after }) })
  for (;;) {
    const found = page.objects.map(parseUpload)
    const expired = found.filter(isExpired).map(({ key }) => key)
    if (expired.length) await blobs.delete(expired)
    yield* found.filter((upload) => !isExpired(upload))
    if (!page.truncated) return
    page = await blobs.list({ ...options, cursor: page.cursor })
  }
}
