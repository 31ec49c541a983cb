/** Finds uploaded files of a tenant in R2, and turns the files of a request into files for a session. */

import { mediaTypeOf } from '#agent/core/media/media-type.ts'
import type { ImagePart, Message, SentFile, TextPart, UnreadFile } from '#agent/core/message.ts'
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

/** Finds the files of a message. The session writes them into its workspace. */
export async function resolveFiles<Content extends { readonly content: readonly Part[] }>(
  message: Content,
  call: FileCall,
  param: string,
): Promise<Content> {
  if (message.content.filter(isGiven).length > maxFiles)
    throw invalid(`A message has at most ${maxFiles} files.`, param)
  const content = message.content.map((part) => (isGiven(part) ? resolvePart(part, call, param) : part))
  return { ...message, content: await Promise.all(content) }
}

/** Finds the newest files of earlier messages. The others, and those that cannot be found, are only named. */
export async function resolveEarlierFiles(messages: readonly Message[], call: FileCall): Promise<readonly Message[]> {
  let left = maxFiles
  const resolved: Message[] = []
  for (const message of messages.toReversed()) {
    if (message.role === 'assistant' || !message.content.some(isGiven)) {
      resolved.push(message)
      continue
    }
    const content = message.content.map((part) => {
      if (!isGiven(part)) return part
      return left-- > 0 ? resolvePart(part, call, 'input').catch(() => nameFile(part)) : nameFile(part)
    })
    resolved.push({ ...message, content: await Promise.all(content) })
  }
  return resolved.toReversed()
}

/** Leaves the names of the files of messages that no session reads. */
export const nameFiles = (messages: readonly Message[]): readonly Message[] =>
  messages.map((message) =>
    message.role === 'assistant'
      ? message
      : { ...message, content: message.content.map((part) => (isGiven(part) ? nameFile(part) : part)) },
  )

type Part = TextPart | ImagePart
type FilePart = Omit<TextPart, 'sent'> & { readonly sent: SentFile }

const isGiven = (part: Part): part is FilePart =>
  part.type === 'text' && typeof part.sent === 'object' && part.unread === undefined

const nameFile = ({ sent: { kind, name, at, id, url } }: FilePart): TextPart => ({
  type: 'text',
  text: `[Attached file: ${name ?? (kind === 'audio' ? 'audio' : 'a file')}]`,
  sent: {
    kind,
    at,
    ...(name !== undefined && { name }),
    ...(id !== undefined && { id }),
    ...(url !== undefined && { url }),
  },
})

async function resolvePart(part: FilePart, call: FileCall, param: string): Promise<TextPart> {
  const { data: _data, ...sent } = part.sent
  return { ...part, sent, unread: await resolveFile(part.sent, call, param) }
}

async function resolveFile(file: SentFile, call: FileCall, param: string): Promise<UnreadFile> {
  const { name, data, id, url } = file
  const isReference = url !== undefined || id !== undefined
  if (data !== undefined && (data !== '' || !isReference)) return readInlineFile(file, data, param)
  if (url !== undefined) return downloadFile({ url, name }, call, param)
  if (id === undefined) throw missingContent(param)
  const { key, name: stored } = await findUpload(call.env, call.tenant.id, id)
  const chosen = name || stored
  return { name: chosen, mediaType: mediaTypeOf(chosen), content: { kind: 'stored', key } }
}

const missingContent = (param: string) =>
  invalid('A file needs base64, a data URL, an https address, or the id of an upload.', param)

const maxDownloadBytes = 10 * 1024 * 1024
const downloadTimeoutMs = 30_000

async function downloadFile(
  { url, name }: { readonly url: string; readonly name: string | undefined },
  call: FileCall,
  param: string,
): Promise<UnreadFile> {
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

function readInlineFile({ kind, name, prefix = '' }: SentFile, data: string, param: string): UnreadFile {
  if (!/^[A-Za-z0-9+/=\s]*$/.test(data) || !isBase64(data)) throw missingContent(param)
  const [, declared] = /^data:([\w.+-]{1,80}\/[\w.+-]{1,100})?(?:;[\w=.-]{1,100})*;base64,$/.exec(prefix) ?? []
  const type = kind === 'audio' ? `audio/${extensionOf(name)}` : (declared ?? mediaTypeOf(name ?? ''))
  return {
    name: name || `file.${type.split('/')[1]?.replace(/[^\w]/g, '') ?? 'bin'}`,
    mediaType: type,
    content: { kind: 'base64', data },
  }
}

const extensionOf = (name = '') => name.slice(name.lastIndexOf('.') + 1)

function isBase64(text: string): boolean {
  try {
    return typeof atob(text.replace(/\s+/g, '')) === 'string'
  } catch {
    return false
  }
}
