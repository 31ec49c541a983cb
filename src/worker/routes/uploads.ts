/** `/v1/files`: files of a tenant that messages name by their id. They are stored in R2. */

import * as z from 'zod'
import { mediaTypeOf } from '../../agent/model/media-type.ts'
import { readBytes } from '../body.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { respondWithFile } from '../file-response.ts'
import { requireStorageAdmission } from '../limits.ts'
import { type Call, route } from '../route.ts'
import { ok } from '../shapes.ts'
import { findUpload, requireBlobs, type Upload, uploadKey, uploadPrefix } from '../uploads.ts'

const tag = 'OpenAI'

const fileShape = z.object({
  id: z.string(),
  object: z.literal('file'),
  bytes: z.int(),
  created_at: z.int().describe('Seconds since 1970.'),
  filename: z.string(),
  purpose: z.string(),
  status: z.literal('processed'),
})

const listShape = z.object({
  object: z.literal('list'),
  data: z.array(fileShape),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
})

const toFileObject = ({ id, bytes, createdAt, name, purpose }: Upload) => ({
  id,
  object: 'file' as const,
  bytes,
  created_at: Math.floor(createdAt / 1_000),
  filename: name,
  purpose,
  status: 'processed' as const,
})

export const uploadRoutes = [
  route({
    method: 'post',
    path: '/v1/files',
    scope: 'chat',
    tag,
    summary: 'Upload a file (multipart/form-data with `file` and `purpose`)',
    bytes: true,
    responses: ok('The file', fileShape),
    handle: createUpload,
  }),
  route({
    method: 'get',
    path: '/v1/files',
    scope: 'read',
    tag,
    summary: 'Uploaded files, newest first',
    query: z.object({
      limit: z.coerce.number().int().min(1).max(1_000).default(100),
      after: z.string().max(100).optional(),
    }),
    responses: ok('OpenAI list', listShape),
    handle: async ({ env, tenant, query: { limit, after } }) => {
      const prefix = uploadPrefix(tenant.id)
      const found = await requireBlobs(env).list({
        prefix,
        limit,
        include: ['customMetadata'],
        ...(after !== undefined && { startAfter: prefix + after }),
      })
      const data = found.objects.map((object) => toFileObject(readUpload(object, prefix)))
      const [first, last] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
      return Response.json({ object: 'list', data, first_id: first, last_id: last, has_more: found.truncated })
    },
  }),
  route({
    method: 'get',
    path: '/v1/files/:id',
    scope: 'read',
    tag,
    summary: 'One uploaded file',
    responses: ok('The file', fileShape),
    handle: async ({ env, tenant, param }) =>
      Response.json(toFileObject(await findUpload(env, tenant.id, param('id')))),
  }),
  route({
    method: 'get',
    path: '/v1/files/:id/content',
    scope: 'read',
    tag,
    summary: 'The bytes of an uploaded file',
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
    scope: 'write',
    tag,
    summary: 'Delete an uploaded file; copies in workspaces stay',
    responses: ok('Deleted', z.object({ id: z.string(), object: z.literal('file'), deleted: z.literal(true) })),
    handle: async ({ env, tenant, param }) => {
      const { id, key } = await findUpload(env, tenant.id, param('id'))
      await requireBlobs(env).delete(key)
      return Response.json({ id, object: 'file', deleted: true })
    },
  }),
]

async function createUpload({ env, tenant, web }: Call<unknown, unknown>): Promise<Response> {
  const blobs = requireBlobs(env)
  const form = await readForm(web.req.raw)
  const [file, purpose] = [form.get('file'), form.get('purpose') ?? 'user_data']
  if (!(file instanceof File)) throw invalid('Send the file as the field `file` of multipart/form-data.', 'file')
  if (typeof purpose !== 'string' || purpose.length > 64) throw invalid('purpose: at most 64 characters.', 'purpose')
  await requireStorageAdmission(env, tenant, file.size)
  const [now, name] = [Date.now(), cleanName(file.name)]
  const upload: Upload = { ...uploadKey(tenant.id, now), name, purpose, bytes: file.size, createdAt: now }
  // Custom metadata is ASCII.
  const customMetadata = {
    name: encodeURIComponent(name),
    purpose: encodeURIComponent(purpose.toWellFormed()),
    at: `${now}`,
  }
  await blobs.put(upload.key, await file.arrayBuffer(), { customMetadata })
  return Response.json(toFileObject(upload))
}

async function readForm(request: Request): Promise<FormData> {
  const type = request.headers.get('content-type') ?? ''
  if (!type.toLowerCase().startsWith('multipart/form-data'))
    throw invalid('Send multipart/form-data with the field `file`.', 'file')
  const bytes = (await readBytes(request)) as Uint8Array<ArrayBuffer>
  try {
    return await new Response(bytes, { headers: { 'content-type': type } }).formData()
  } catch {
    throw new AppError(400, 'invalid_request', 'The body is not valid multipart/form-data.', { param: 'body' })
  }
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

function readUpload({ key, size, uploaded, customMetadata = {} }: R2Object, prefix: string): Upload {
  const { name = 'file', purpose = 'user_data' } = customMetadata
  const id = key.slice(prefix.length)
  return {
    id,
    key,
    name: decodeURIComponent(name),
    purpose: decodeURIComponent(purpose),
    bytes: size,
    createdAt: uploaded.getTime(),
  }
}
