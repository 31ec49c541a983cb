/** Finds uploaded files of a tenant in R2, and turns the files of a request into files for a session. */

import { mediaTypeOf } from '#agent/core/media/media-type.ts'
import type { IncomingFile } from '#durable/session/intake/incoming-files.ts'
import { createTenantFetch } from '#durable/tenant/tenant-fetch.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { requireFetch } from '../input/require-action.ts'
import type { RouteCall } from '../route.ts'
import { blobPrefix } from '#durable/platform/addresses.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'

export type Upload = {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly purpose: string
  readonly bytes: number
  readonly createdAt: number
  /** Milliseconds since 1970. */
  readonly expiresAt?: number
}

/** A file as a request names it: base64 or a data URL, the id of an upload, or an https address. */
export type GivenFile = {
  readonly name?: string | null | undefined
  readonly data?: string | null | undefined
  readonly id?: string | null | undefined
  readonly url?: string | null | undefined
  readonly mediaType?: string | undefined
}

const idPattern = /^file-[0-9a-f]{12}[0-9a-f]{20}$/
const latestMs = 2 ** 48 - 1
const maxFiles = 20

export const uploadPrefix = (tenantId: string): string => blobPrefix(tenantId, 'uploads')

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

/** Throws the same 404 for an unknown or expired upload, a malformed id and an upload of another tenant. */
export async function findUpload(env: Env, tenantId: string, id: string): Promise<Upload> {
  const key = uploadPrefix(tenantId) + id
  const object = idPattern.test(id) ? await requireBlobs(env).head(key) : null
  const upload = object && parseUpload(object)
  if (!upload) throw notFound()
  if (!isExpired(upload)) return upload
  await requireBlobs(env).delete(key)
  throw notFound()
}

export const isExpired = ({ expiresAt = Infinity }: Upload): boolean => expiresAt <= Date.now()

export function parseUpload({ key, size, uploaded, customMetadata = {} }: R2Object): Upload {
  const { name = 'file', purpose = 'user_data', expires } = customMetadata
  return {
    id: key.slice(key.lastIndexOf('/') + 1),
    key,
    name: decodeURIComponent(name),
    purpose: decodeURIComponent(purpose),
    bytes: size,
    createdAt: uploaded.getTime(),
    ...(expires !== undefined && { expiresAt: Number(expires) }),
  }
}

type FileCall = Pick<RouteCall<unknown, unknown>, 'authority' | 'env' | 'tenant' | 'web'>

/** Checks the files of a request. The session writes them into its workspace. */
export function resolveFiles(
  given: readonly GivenFile[],
  call: FileCall,
  param: string,
): Promise<readonly IncomingFile[]> {
  if (given.length > maxFiles) throw invalid(`A message has at most ${maxFiles} files.`, param)
  return Promise.all(given.map((file) => resolveFile(file, call, param)))
}

async function resolveFile(file: GivenFile, call: FileCall, param: string): Promise<IncomingFile> {
  const { name, data, id, url } = file
  if (data != null) return readInlineFile(file, param)
  if (url != null) return downloadFile({ url, name }, call, param)
  if (id == null) throw missingContent(param)
  const { key, name: stored } = await findUpload(call.env, call.tenant.id, id)
  const chosen = name || stored
  return { name: chosen, mediaType: mediaTypeOf(chosen), content: { kind: 'stored', key } }
}

const missingContent = (param: string) =>
  invalid('A file needs base64, a data URL, an https address, or the id of an upload.', param)

const maxDownloadBytes = 10 * 1024 * 1024
const downloadTimeoutMs = 30_000

async function downloadFile(
  { url, name }: { readonly url: string; readonly name: string | null | undefined },
  call: FileCall,
  param: string,
): Promise<IncomingFile> {
  await requireFetch(call, url, param)
  const { env, tenant, web } = call
  const guardedFetch = createTenantFetch(env, tenant.id, (work) => web.executionCtx.waitUntil(work))
  const { response, bytes } = await guardedFetch({
    url,
    follow: true,
    timeoutMs: downloadTimeoutMs,
    maxBytes: maxDownloadBytes,
  })
    .then(async ({ response: found }) => ({ response: found, bytes: await found.bytes() }))
    .catch((error: Error) => {
      const code = error.name === 'BlockedAddress' ? 'blocked_url' : 'invalid_request'
      throw new AppError(400, code, `The file could not be fetched: ${error.message}.`, { param })
    })
  if (!response.ok) throw invalid(`The file could not be fetched: its server answered ${response.status}.`, param)
  const type = /^[\w.+-]+\/[\w.+-]+/.exec(response.headers.get('content-type') ?? '')?.[0]
  const chosen = name || decodeName(new URL(url).pathname.split('/').at(-1) ?? '') || 'file'
  return {
    name: chosen,
    mediaType: type ?? mediaTypeOf(chosen),
    content: { kind: 'base64', data: encodeBase64Bytes(bytes) },
  }
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name).slice(0, 255)
  } catch {
    return name.slice(0, 255)
  }
}

function readInlineFile({ name, data, mediaType }: GivenFile, param: string): IncomingFile {
  const [, declared, base64] =
    /^(?:data:([\w.+-]{1,80}\/[\w.+-]{1,100})?(?:;[\w=.-]{1,100})*;base64,)?([A-Za-z0-9+/=\s]*)$/.exec(data ?? '') ?? []
  if (base64 === undefined || !isBase64(base64)) throw missingContent(param)
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
