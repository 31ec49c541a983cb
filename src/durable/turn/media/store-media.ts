/**
 * Stores what was made in R2 and the workspace. What cannot be stored now is kept in the session, and the alarm tries
 * again: it was paid.
 */

import { log } from '#agent/core/log.ts'
import type { MediaFile } from '#agent/core/media/media.ts'
import { clock } from '#durable/platform/clock.ts'
import { retryDelayMs } from '#durable/platform/schedule.ts'
import { createLink } from '#durable/platform/signed-links.ts'
import type { MediaHost } from './media-host.ts'
import type { KeptFile, MadeKind, MediaRow } from './media-rows.ts'
import { blobPrefix } from '#durable/platform/addresses.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

/** About five hours: the longest delay is five minutes. */
const maxTries = 60

export type Made = { readonly bytes: Uint8Array<ArrayBuffer>; readonly mime: string; readonly extension: string }

/** Places a file under its content in R2, and under a readable name in the workspace. */
async function placeFile(
  { tenantId }: Pick<MediaHost, 'tenantId'>,
  { mime, extension, stem }: MadeKind,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<KeptFile> {
  const hash = await sha256Hex(bytes)
  return {
    path: `media/${stem}-${hash.slice(0, 8)}.${extension}`,
    key: `${blobPrefix(tenantId, 'media')}${hash}.${extension}`,
    mime,
    bytes: bytes.length,
  }
}

const maxStemChars = 40

/** A file name from the beginning of a text. */
export function renderStem(text: string, otherwise: string): string {
  const words =
    text
      .slice(0, 200)
      .toLowerCase()
      .normalize('NFKD')
      .match(/[a-z0-9]{1,20}/g) ?? []
  return words.slice(0, 5).join('-').slice(0, maxStemChars) || otherwise
}

export type KeptRow = MediaRow & { readonly made: MadeKind }
export type StoredRow = MediaRow & { readonly file: KeptFile }

/** Stores the kept bytes. The row that it returns is still `kept` when something could not be stored. */
export async function storeKept(host: MediaHost, row: KeptRow): Promise<StoredRow> {
  const { rows, env, backend } = host
  const bytes = rows.readBytes(row.id)
  const file = row.file ?? (await placeFile(host, row.made, bytes))
  try {
    await env.BLOBS?.put(file.key, bytes, { httpMetadata: { contentType: file.mime } })
    await backend.files.write(file.path, bytes)
  } catch (error) {
    log.warn('media.unstored', 'What was made could not be stored. It is kept, and the alarm tries again.', { error })
    return postpone(host, { ...row, file })
  }
  const { nextAt: _nextAt, ...rest } = row
  // A late result is over when its message is part of the conversation.
  const stored = row.late ? { ...row, file, state: 'queued' as const } : { ...rest, file, state: 'done' as const }
  rows.put(stored)
  return stored
}

function postpone({ rows, arm }: MediaHost, { nextAt: _nextAt, ...row }: StoredRow): StoredRow {
  const tries = row.tries + 1
  const nextAt = clock.now() + retryDelayMs(tries)
  const kept = { ...row, tries, ...(tries < maxTries && { nextAt }) }
  rows.put(kept)
  arm()
  return kept
}

export async function describeFile(host: MediaHost, { path, mime, bytes }: KeptFile): Promise<MediaFile> {
  const { env, tenantId, sessionId } = host
  const url = await createLink(env, { tenantId, sessionId, path }, clock.now())
  return { path, mime, bytes, url: url ?? '' }
}
