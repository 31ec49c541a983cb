/** Reads from a file of the workspace what its card shows: its size, its type, and the bytes of pictures, sound and film. */

import { ApiError, filePath, send } from '../../../api/client.ts'
import { findMime } from '../../../model/picture-type.ts'
import { extensionOf, kindOf } from '../../../model/workspace-files.ts'

export type LoadedFile =
  | { readonly kind: 'missing' }
  | { readonly kind: 'other'; readonly size: number }
  | { readonly kind: 'picture' | 'sound' | 'film'; readonly size: number; readonly blob: Blob }

const maxShownBytes = 32 * 1_024 * 1_024
const beginBytes = 512

/** Only types that a media element plays, so that no name of a file makes a page of it. */
const mediaTypes: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  oga: 'audio/ogg',
  opus: 'audio/ogg',
  m4a: 'audio/mp4',
  aac: 'audio/aac',
  flac: 'audio/flac',
  mp4: 'video/mp4',
  m4v: 'video/mp4',
  mov: 'video/mp4',
  webm: 'video/webm',
  ogv: 'video/ogg',
}

const missing: LoadedFile = { kind: 'missing' }
/** The file is not there, is no file, or the key may not read it. */
const refusals = new Set([400, 403, 404])

export async function loadFile(session: string, path: string): Promise<LoadedFile> {
  try {
    return await load(session, path)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 416) return { kind: 'other', size: 0 }
    if (refusals.has(error.status)) return missing
    throw error
  }
}

async function load(session: string, path: string): Promise<LoadedFile> {
  const begin = await send('GET', filePath(session, path), { headers: { range: `bytes=0-${beginBytes - 1}` } })
  // A directory is a list.
  if (begin.headers.get('content-type')?.startsWith('application/json')) return missing
  const bytes = new Uint8Array(await begin.arrayBuffer())
  const size = Number(/\/(\d+)$/.exec(begin.headers.get('content-range') ?? '')?.[1] ?? bytes.length)
  const picture = findMime(bytes, path)
  const kind = picture === undefined ? kindOf(path) : 'picture'
  const type = picture ?? mediaTypes[extensionOf(path)]
  if (kind === 'other' || type === undefined || size > maxShownBytes) return { kind: 'other', size }
  const blob = await readFile(session, path)
  return { kind, size, blob: blob.slice(0, blob.size, type) }
}

export const readFile = async (session: string, path: string): Promise<Blob> =>
  (await send('GET', filePath(session, path))).blob()
