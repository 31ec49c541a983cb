/** Reads images and video for tools, from the network through the guarded fetch or from the workspace. Bytes decide their type. */

import { BackendError } from '#agent/core/backend.ts'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import type { ImageInput } from '#backends/media/images.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import type { MediaHost } from './media-host.ts'

const timeoutMs = 60_000

type Kind = {
  readonly name: string
  readonly types: ReadonlySet<string>
  readonly formats: string
  readonly maxMb: number
}
/** The types that every model reads. */
const image: Kind = {
  name: 'image',
  types: new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
  formats: 'PNG, JPEG, GIF or WebP image',
  maxMb: 20,
}
/** A request has 20 MB, of which base64 leaves three quarters. */
const video: Kind = {
  name: 'video',
  types: new Set(['video/mp4', 'video/webm']),
  formats: 'MP4, MOV or WebM video',
  maxMb: 14,
}

type PictureHost = Pick<MediaHost, 'guardedFetch' | 'backend'>

export const loadPictures = (
  host: PictureHost,
  sources: readonly string[],
  signal: AbortSignal,
): Promise<readonly ImageInput[]> => Promise.all(sources.map((source) => loadPicture(host, source, signal)))

/** `source`: an http or https address, or a path of the workspace. */
export const loadPicture = (host: PictureHost, source: string, signal: AbortSignal): Promise<ImageInput> =>
  load({ host, kind: image, signal }, source)

export const loadVideo = (host: PictureHost, source: string, signal: AbortSignal): Promise<ImageInput> =>
  load({ host, kind: video, signal }, source)

type Loading = { readonly host: PictureHost; readonly kind: Kind; readonly signal: AbortSignal }

async function load(loading: Loading, source: string): Promise<ImageInput> {
  const bytes = await readSource(loading, source.replace(/^MEDIA:\s?/, ''))
  const type = detectMediaType(bytes)
  if (type && loading.kind.types.has(type.mime)) return { mime: type.mime, bytes }
  throw new MediaFailure('refused', `${shown(source)} is no ${loading.kind.formats}.`)
}

const shown = (source: string): string => source.slice(0, 200)

function readSource(loading: Loading, source: string): Promise<Uint8Array<ArrayBuffer>> {
  if (/^https?:\/\//i.test(source)) return download(loading, source)
  if (/^[A-Za-z][A-Za-z0-9+.-]{1,30}:/.test(source))
    throw new MediaFailure('refused', 'Only http and https addresses and paths of the workspace can be read.')
  return readFile(loading, source)
}

const toBytes = ({ maxMb }: Kind): number => maxMb * 1024 * 1024

async function download({ host, kind, signal }: Loading, url: string) {
  try {
    const { response } = await host.guardedFetch({ url, follow: true, timeoutMs, maxBytes: toBytes(kind), signal })
    if (!response.ok) throw new Error(`its server answered ${response.status}`)
    return new Uint8Array(await response.arrayBuffer())
  } catch (error) {
    if (signal.aborted) throw error
    const reason = error instanceof Error ? error.message.slice(0, 400) : 'no reason'
    throw new MediaFailure('refused', `The ${kind.name} could not be read: ${reason}.`)
  }
}

async function readFile({ host, kind }: Loading, path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const stat = await host.backend.files.stat(path)
    if (stat?.type !== 'file') throw new MediaFailure('refused', `There is no file ${shown(path)} in the workspace.`)
    if (stat.size > toBytes(kind)) throw new MediaFailure('refused', `${shown(path)} is larger than ${kind.maxMb} MB.`)
    return new Uint8Array((await host.backend.files.read(path)) ?? [])
  } catch (error) {
    if (!(error instanceof BackendError)) throw error
    throw new MediaFailure('refused', `${error.message} ${error.hint}`.trim())
  }
}
