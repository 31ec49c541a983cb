/**
 * Stores the files that a message carries within itself, as mails do, because no platform can be asked for them later. They
 * lie in R2 below their session until the message took effect. Their keys are the same for every delivery of the message.
 */

import { log } from '#agent/core/log.ts'
import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { CarriedFile, FetchedMedia } from '#channels/channel.ts'
import { sessionBlobPrefix } from '#durable/platform/addresses.ts'

/** A session reads no more files of one message. */
const maxStored = 20
/** Platforms repeat deliveries for up to a few days. What is older was left by a crash, or by a late repetition. */
const retentionMs = 5 * 86_400_000

export type FileOwner = { readonly tenantId: string; readonly sessionId: string }

const prefixOf = ({ tenantId, sessionId }: FileOwner): string => sessionBlobPrefix(tenantId, sessionId, 'carried')

export type CarriedFiles = {
  readonly owner: FileOwner
  /** Identifies the message. */
  readonly name: string
  readonly files: readonly CarriedFile[]
  readonly at: number
}

/** Returns the references under which the session finds the files. Rejects when a file could not be stored. */
export async function storeCarriedFiles(
  blobs: R2Bucket | undefined,
  media: readonly MediaReference[],
  { owner, name, files, at }: CarriedFiles,
): Promise<readonly MediaReference[]> {
  const prefix = prefixOf(owner)
  if (blobs) {
    await deleteOld(blobs, prefix, at - retentionMs)
    const stored = new Set(media.slice(0, maxStored).map(({ reference }) => reference))
    for (const { reference, bytes } of files)
      if (stored.has(reference)) await blobs.put(`${prefix}${name}/${reference}`, bytes)
  }
  return media.map((one) => (one.isCarried ? { ...one, reference: `${name}/${one.reference}` } : one))
}

async function deleteOld(blobs: R2Bucket, prefix: string, before: number): Promise<void> {
  const { objects } = await blobs.list({ prefix })
  const old = objects.filter(({ uploaded }) => uploaded.getTime() < before).map(({ key }) => key)
  if (old.length) await blobs.delete(old)
}

/** Never rejects. */
export async function readCarriedFile(
  blobs: R2Bucket | undefined,
  owner: FileOwner,
  { reference, mime, name }: MediaReference,
): Promise<FetchedMedia> {
  if (!blobs) return { kind: 'failed', detail: 'the deployment has no binding BLOBS to keep it', canRetry: false }
  try {
    const found = await blobs.get(prefixOf(owner) + reference)
    if (!found) return { kind: 'failed', detail: 'it is not stored any more', canRetry: false }
    const bytes = new Uint8Array(await found.arrayBuffer())
    return { kind: 'fetched', bytes, ...(mime && { mime }), ...(name !== undefined && { name }) }
  } catch {
    return { kind: 'failed', detail: 'the stored file could not be read', canRetry: true }
  }
}

/** Called after the message took effect. Never rejects. */
export async function deleteCarriedFiles(
  blobs: R2Bucket | undefined,
  owner: FileOwner,
  media: readonly MediaReference[],
): Promise<void> {
  const keys = media.filter(({ isCarried }) => isCarried).map(({ reference }) => prefixOf(owner) + reference)
  await blobs
    ?.delete(keys)
    .catch((error: unknown) =>
      log.warn('channel.files_undeleted', 'Files of a message could not be deleted.', { error }),
    )
}
