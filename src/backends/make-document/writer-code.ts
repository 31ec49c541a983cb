/** Imports the code of the isolates that write documents, one library each, and the font and the program that some need. */

import type { DocumentKind } from '#agent/core/media/document-writer.ts'
import { decodeBase64Bytes } from '#agent/core/base64.ts'

export const writerCode: Readonly<Record<DocumentKind, () => Promise<string>>> = {
  xlsx: async () => (await import('../dist/write-xlsx.isolate.txt')).default,
  docx: async () => (await import('../dist/write-docx.isolate.txt')).default,
  pptx: async () => (await import('../dist/write-pptx.isolate.txt')).default,
  pdf: async () => (await import('../dist/write-pdf.isolate.txt')).default,
  svg: async () => (await import('../dist/write-svg.isolate.txt')).default,
  png: async () => (await import('../dist/write-png.isolate.txt')).default,
}

type Assets = Readonly<Record<string, WorkerLoaderModule>>

/** The standard fonts of PDF have these letters and a few more. */
const latinOnly = /^[\0-\u00ff]*$/

/** The font is large: text of Western Europe does without it. */
export async function loadAssets(kind: DocumentKind, content: string): Promise<Assets> {
  if (kind === 'pdf') return { 'font.ttf': { data: latinOnly.test(content) ? new ArrayBuffer(0) : await loadFont() } }
  if (kind !== 'png') return {}
  const packed = (await import('../dist/resvg-wasm.isolate.txt')).default
  return { 'font.ttf': { data: await loadFont() }, 'resvg.wasm': { wasm: await unpack(packed) } }
}

const loadFont = async (): Promise<ArrayBuffer> => unpack((await import('../dist/font-sans.isolate.txt')).default)

/** Base64 of gzip: small in the bundle, where text needs no rule of its own. */
const unpack = (packed: string): Promise<ArrayBuffer> =>
  new Response(
    new Blob([decodeBase64Bytes(packed)]).stream().pipeThrough(new DecompressionStream('gzip')),
  ).arrayBuffer()
