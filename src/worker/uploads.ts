/** Finds uploaded files of a tenant in R2, and turns the files of a request into files for a session. */

import { mediaTypeOf } from '../agent/model/media-type.ts'
import type { IncomingFile } from '../durable/session/intake/incoming-files.ts'
import { AppError, invalid, notFound } from './errors.ts'

export type Upload = {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly purpose: string
  readonly bytes: number
  readonly createdAt: number
}

/** A file as a request names it: base64 or a data URL, or the id of an upload. */
export type GivenFile = {
  readonly name?: string | null | undefined
  readonly data?: string | null | undefined
  readonly id?: string | null | undefined
  readonly mediaType?: string | undefined
}

const idPattern = /^file-[0-9a-f]{12}[0-9a-f]{20}$/
const latestMs = 2 ** 48 - 1
const maxFiles = 20

export const uploadPrefix = (tenantId: string): string => `t/${tenantId}/uploads/`

/** Ids count backwards in time, because R2 lists keys in ascending order and lists are newest first. */
export function uploadKey(tenantId: string, now: number): { readonly id: string; readonly key: string } {
  const time = (latestMs - now).toString(16).padStart(12, '0')
  const id = `file-${time}${crypto.randomUUID().replaceAll('-', '').slice(0, 20)}`
  return { id, key: uploadPrefix(tenantId) + id }
}

export function requireBlobs({ BLOBS }: Env): R2Bucket {
  if (BLOBS) return BLOBS
  throw new AppError(501, 'not_configured', 'Uploads need the binding BLOBS.', { param: 'BLOBS' })
}

/** Throws the same 404 for an unknown upload, a malformed id and an upload of another tenant. */
export async function findUpload(env: Env, tenantId: string, id: string): Promise<Upload> {
  const key = uploadPrefix(tenantId) + id
  const object = idPattern.test(id) ? await requireBlobs(env).head(key) : null
  if (!object) throw notFound()
  const { name = 'file', purpose = 'user_data' } = object.customMetadata ?? {}
  const [fileName, use] = [decodeURIComponent(name), decodeURIComponent(purpose)]
  return { id, key, name: fileName, purpose: use, bytes: object.size, createdAt: object.uploaded.getTime() }
}

type Place = { readonly env: Env; readonly tenantId: string; readonly param: string }

/** Checks the files of a request. The session writes them into its workspace. */
export function resolveFiles(given: readonly GivenFile[], place: Place): Promise<readonly IncomingFile[]> {
  if (given.length > maxFiles) throw invalid(`A message has at most ${maxFiles} files.`, place.param)
  return Promise.all(given.map((file) => resolveFile(file, place)))
}

async function resolveFile(
  { name, data, id, mediaType }: GivenFile,
  { env, tenantId, param }: Place,
): Promise<IncomingFile> {
  if (id != null && data == null) {
    const { key, name: stored } = await findUpload(env, tenantId, id)
    const chosen = name || stored
    return { name: chosen, mediaType: mediaTypeOf(chosen), content: { kind: 'stored', key } }
  }
  return readInlineFile({ name, data, mediaType }, param)
}

function readInlineFile({ name, data, mediaType }: GivenFile, param: string): IncomingFile {
  const [, declared, base64] =
    /^(?:data:([\w.+-]{1,80}\/[\w.+-]{1,100})?(?:;[\w=.-]{1,100})*;base64,)?([A-Za-z0-9+/=\s]*)$/.exec(data ?? '') ?? []
  if (base64 === undefined || !isBase64(base64))
    throw invalid('A file needs base64, a data URL, or the id of an upload.', param)
  const type = mediaType ?? declared ?? mediaTypeOf(name ?? '')
  return {
    name: name || `file.${type.split('/')[1]?.replace(/[^\w]/g, '') ?? 'bin'}`,
    mediaType: type,
    content: { kind: 'base64', data: base64 },
  }
}

function isBase64(text: string): boolean {
  try {
    return atob(text.replace(/\s+/g, '')).length > 0
  } catch {
    return false
  }
}
