/** Reads all entries of a tar or zip archive of bounded size. */

import { openZipArchive } from '../../office/inside/zip-archive.ts'
import { BudgetError, createBudget } from '../../office/inside/work-budget.ts'
import { unpack } from '../../tar.ts'
import type { ArchiveEntry } from './collect-files.ts'
import { ImportError } from './import-error.ts'

/** Of a whole archive: a repository may have much beside the skill. */
const maxUnpackedBytes = 32 * 1024 * 1024
const tooLarge = 'The archive unpacks to more than 32 MiB. Give the address of an archive with the skill alone.'

export async function readArchive(bytes: Uint8Array): Promise<readonly ArchiveEntry[]> {
  try {
    return await (isZip(bytes) ? readZip(bytes) : readTar(bytes))
  } catch (error) {
    if (error instanceof ImportError) throw error
    if (error instanceof BudgetError) throw new ImportError(tooLarge)
    throw new ImportError(`The archive cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const isZip = ([first, second]: Uint8Array): boolean => first === 0x50 && second === 0x4b
const isGzip = ([first, second]: Uint8Array): boolean => first === 0x1f && second === 0x8b

async function readZip(bytes: Uint8Array): Promise<readonly ArchiveEntry[]> {
  const limits = { unpackedBytes: maxUnpackedBytes, characters: 0, steps: 0 }
  const archive = openZipArchive(
    bytes,
    createBudget(limits, async () => undefined),
  )
  if (!archive) throw new ImportError('The archive is damaged.')
  const entries: ArchiveEntry[] = []
  for (const name of archive.names) {
    if (name.endsWith('/')) continue
    entries.push({ path: name, bytes: archive.isLink(name) ? undefined : await archive.readBytes(name) })
  }
  return entries
}

async function readTar(bytes: Uint8Array): Promise<readonly ArchiveEntry[]> {
  let total = 0
  const source = new Response(bytes as Uint8Array<ArrayBuffer>).body
  if (!source) return []
  const plain = isGzip(bytes) ? source.pipeThrough(new DecompressionStream('gzip')) : source
  let isTooLarge = false
  const counted = (plain as ReadableStream<Uint8Array>).pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(part, controller) {
        total += part.byteLength
        isTooLarge = total > maxUnpackedBytes
        if (isTooLarge) throw new Error(tooLarge)
        controller.enqueue(part)
      },
    }),
  )
  const entries: ArchiveEntry[] = []
  try {
    for await (const entry of unpack(counted)) {
      if (entry.kind === 'file') entries.push({ path: entry.path, bytes: entry.bytes })
      if (entry.kind === 'link') entries.push({ path: entry.path, bytes: undefined })
    }
  } catch (error) {
    throw isTooLarge ? new ImportError(tooLarge) : error
  }
  return entries
}
