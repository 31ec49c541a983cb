/** Reads images for tools, from the network through the guarded fetch or from the workspace. Bytes decide their type. */

import { BackendError } from '#agent/core/backend.ts'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import type { ImageInput } from '#backends/media/images.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import type { MediaHost } from './media-host.ts'

const maxBytes = 20 * 1024 * 1024
const timeoutMs = 60_000
/** The types that every model reads. */
const readable: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

type PictureHost = Pick<MediaHost, 'guardedFetch' | 'backend'>

export const loadPictures = (
  host: PictureHost,
  sources: readonly string[],
  signal: AbortSignal,
): Promise<readonly ImageInput[]> => Promise.all(sources.map((source) => loadPicture(host, source, signal)))

/** `source`: an http or https address, or a path of the workspace. */
export async function loadPicture(host: PictureHost, source: string, signal: AbortSignal): Promise<ImageInput> {
  const bytes = await readSource(host, source.replace(/^MEDIA:\s?/, ''), signal)
  const type = detectMediaType(bytes)
  if (type && readable.has(type.mime)) return { mime: type.mime, bytes }
  throw new MediaFailure('refused', `${shown(source)} is no PNG, JPEG, GIF or WebP image.`)
}

const shown = (source: string): string => source.slice(0, 200)

function readSource(host: PictureHost, source: string, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  if (/^https?:\/\//i.test(source)) return download(host, source, signal)
  if (/^[A-Za-z][A-Za-z0-9+.-]{1,30}:/.test(source))
    throw new MediaFailure('refused', 'Only http and https addresses and paths of the workspace can be read.')
  return readFile(host, source)
}

async function download({ guardedFetch }: PictureHost, url: string, signal: AbortSignal) {
  try {
    const { response } = await guardedFetch({ url, follow: true, timeoutMs, maxBytes, signal })
    if (!response.ok) throw new Error(`its server answered ${response.status}`)
    return new Uint8Array(await response.arrayBuffer())
  } catch (error) {
    if (signal.aborted) throw error
    const reason = error instanceof Error ? error.message.slice(0, 400) : 'no reason'
    throw new MediaFailure('refused', `The image could not be read: ${reason}.`)
  }
}

async function readFile({ backend }: PictureHost, path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const stat = await backend.files.stat(path)
    if (stat?.type !== 'file') throw new MediaFailure('refused', `There is no file ${shown(path)} in the workspace.`)
    if (stat.size > maxBytes) throw new MediaFailure('refused', `${shown(path)} is larger than 20 MB.`)
    return new Uint8Array((await backend.files.read(path)) ?? [])
  } catch (error) {
    if (!(error instanceof BackendError)) throw error
    throw new MediaFailure('refused', `${error.message} ${error.hint}`.trim())
  }
}
