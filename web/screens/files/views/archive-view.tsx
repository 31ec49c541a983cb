/** Lists the files of an archive. */

import { createTarDecoder } from 'modern-tar'
import { type ArchiveEntry, listZip } from '../../../model/archive.ts'
import { showBidi } from '../../../markdown/links.ts'
import { Panel, useLoad } from '../../../parts/load.tsx'
import { formatBytes } from '../../../words/format.ts'
import { t } from '../../../words/words.ts'

type Props = { readonly blob: Blob }

const maxEntries = 1_000
const gzipMark = [0x1f, 0x8b]

async function listEntries(blob: Blob): Promise<readonly ArchiveEntry[]> {
  const bytes = new Uint8Array(await blob.arrayBuffer())
  const zip = listZip(bytes, maxEntries)
  if (zip) return zip
  const isPacked = gzipMark.every((byte, at) => bytes[at] === byte)
  const stream = isPacked ? blob.stream().pipeThrough(new DecompressionStream('gzip')) : blob.stream()
  return listTar(stream)
}

async function listTar(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<readonly ArchiveEntry[]> {
  const entries: ArchiveEntry[] = []
  const reader = stream.pipeThrough(createTarDecoder()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return entries
    entries.push({ name: value.header.name, size: value.header.size })
    if (entries.length === maxEntries) return entries
    await value.body.cancel()
  }
}

export function ArchiveView({ blob }: Props) {
  const list = useLoad(() => listEntries(blob), '')
  return (
    <Panel of={list}>
      {(entries) => (
        <>
          <p class="note">{t('fileCount', { count: entries.length })}</p>
          <ul class="entries">
            {entries.map(({ name, size }, at) => (
              <li key={at}>
                <span class="clip grow" dir="auto">
                  {showBidi(name)}
                </span>
                {!name.endsWith('/') && <span class="note">{formatBytes(size)}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  )
}
