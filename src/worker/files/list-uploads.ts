/** Lists the uploads of a tenant in pages, and deletes the expired ones that it meets. */

import { isExpired, parseUpload, requireBlobs, type Upload, uploadPrefix } from './uploads.ts'

type UploadQuery = {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The id of the last upload of the page before. */
  readonly after?: string | undefined
  readonly purpose?: string | undefined
}

/** R2 lists keys newest first, so oldest first needs all of them. More than this are not sorted. */
const maxSorted = 10_000

export async function listUploads(
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
