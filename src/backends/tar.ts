/**
 * Packs files into a tar archive and unpacks one, with `modern-tar`. Both directions stream: at most two files are in
 * memory at a time.
 */

import type { createTarPacker, TarHeader } from 'modern-tar'
import { BackendError } from '#agent/core/backend.ts'
import type { SnapshotEntry } from './virtual/snapshot.ts'

/** A file of an archive is held in memory as a whole. */
const maxFileBytes = 64 * 1024 * 1024

/** A part of the worker that is loaded on demand: few turns touch an archive. */
const loadTar = () => import('modern-tar')

const types = { file: 'file', link: 'symlink', directory: 'directory' } as const

/**
 * The library enqueues one padding buffer again and again. A byte stream detaches the buffers that pass through it, so
 * small chunks are copied.
 */
const maxSharedBytes = 1024

/** Packs entries, whose paths are relative to the folder in which the archive will be unpacked. */
export async function* pack(
  entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const tar = await loadTar()
  const { readable, controller } = tar.createTarPacker()
  const written = writeEntries(controller, entries)
  try {
    for await (const chunk of readable) yield chunk.byteLength <= maxSharedBytes ? chunk.slice() : chunk
  } finally {
    await written
  }
}

/** Never rejects: an error becomes the error of the stream, and a cancelled stream ends the iteration of `entries`. */
async function writeEntries(
  controller: ReturnType<typeof createTarPacker>['controller'],
  entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>,
): Promise<void> {
  try {
    for await (const entry of entries) {
      const body = controller.add(createHeader(entry)).getWriter()
      if (entry.kind === 'file' && entry.bytes.length) await body.write(entry.bytes)
      await body.close()
    }
    controller.finalize()
  } catch (error) {
    controller.error(error)
  }
}

function createHeader(entry: SnapshotEntry): TarHeader {
  return {
    name: entry.kind === 'directory' ? `${entry.path}/` : entry.path,
    type: types[entry.kind],
    size: entry.kind === 'file' ? entry.bytes.length : 0,
    mode: entry.mode & 0o7777,
    mtime: new Date(Math.max(0, entry.modified)),
    ...(entry.kind === 'link' && { linkname: entry.target }),
  }
}

/**
 * Unpacks files, folders and symbolic links; other entries are skipped. `isWanted` saves reading contents that are not
 * needed. Paths come without leading slashes and dots, but may contain `..`: the caller decides where they may lead.
 */
export async function* unpack(
  archive: ReadableStream<Uint8Array>,
  isWanted: (path: string) => boolean = () => true,
): AsyncGenerator<SnapshotEntry> {
  const { createTarDecoder } = await loadTar()
  const decoder = createTarDecoder({ strict: true })
  const stop = new AbortController()
  let broken: unknown
  const piped = archive.pipeTo(decoder.writable, { signal: stop.signal }).catch((error: unknown) => (broken = error))
  try {
    for await (const { header, body } of decoder.readable) {
      const path = header.name.replace(/^(\.?\/)+/, '').replace(/\/$/, '')
      if (path === '' || path === '.' || !isUnpacked(header) || !isWanted(path)) await body.cancel()
      else yield await createEntry(path, header, body)
    }
    // The sender breaks the connection when it could not read all files, which may be behind the end mark.
    await piped
    if (broken !== undefined) throw broken
  } catch (error) {
    throw error instanceof BackendError ? error : damaged(error)
  } finally {
    stop.abort()
    await piped
  }
}

const isUnpacked = ({ type = 'file' }: TarHeader): boolean => Object.values<string>(types).includes(type)

async function createEntry(path: string, header: TarHeader, body: ReadableStream<Uint8Array>): Promise<SnapshotEntry> {
  const { mode = 0o644, mtime, size, type } = header
  const attributes = { path, mode, modified: Math.max(0, mtime?.getTime() || 0) }
  if (size > maxFileBytes) throw damaged(new Error(`${path} is larger than ${maxFileBytes / 1024 / 1024} MiB`))
  const bytes = new Uint8Array(await new Response(body).arrayBuffer())
  if (type === 'directory') return { ...attributes, kind: 'directory' }
  if (type === 'symlink') return { ...attributes, kind: 'link', target: header.linkname ?? '' }
  return { ...attributes, kind: 'file', bytes }
}

function damaged(error: unknown): BackendError {
  const reason = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '')
  return new BackendError('unavailable', `The archive cannot be read: ${reason}.`, 'Try again.')
}

/** Turns the chunks of an archive into the body of a request. */
export function toStream(chunks: AsyncGenerator<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await chunks.return(undefined)
    },
  })
}
