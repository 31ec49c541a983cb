/**
 * Writes documents, each in a new isolate that has neither network nor secrets. Always resolves with an answer, even when
 * the isolate crashes.
 */

import { readCode } from '../isolate-code.ts'
import type { DocumentBytes, DocumentKind, DocumentWriter } from '#agent/core/media/document-writer.ts'
import { limitConcurrency } from '../limit-concurrency.ts'
import { removeIllegal } from './legal-text.ts'
import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { awaitAnswer, logCrash, openIsolate } from '../open-isolate.ts'

const isolateLimits = { cpuMs: 20_000, subRequests: 10 }
const timeoutMs = 40_000
/** Concurrent isolates of one Durable Object: the platform allows ten, and others need some. */
const maxConcurrent = 1

export function openDocumentWriter(loader: WorkerLoader): DocumentWriter['write'] {
  const limited = limitConcurrency(maxConcurrent)
  return (kind, given, signal) =>
    limited(async () => {
      const content = removeIllegal(given)
      if (kind !== 'png' || isSvg(content)) return writeAlone(loader, { kind, content, signal })
      const drawn = await writeAlone(loader, { kind: 'svg', content, signal })
      if ('refused' in drawn) return drawn
      return writeAlone(loader, { kind, content: new TextDecoder().decode(drawn.bytes), signal })
    })
}

type DocumentJob = { readonly kind: DocumentKind; readonly content: string; readonly signal: AbortSignal }

const isSvg = (content: string): boolean => /^\s{0,100}<(?:\?xml|svg|!)/i.test(content)

const stopped: DocumentBytes = { refused: 'It takes too much time or memory. Make a smaller document.' }

async function writeAlone(loader: WorkerLoader, { kind, content, signal }: DocumentJob): Promise<DocumentBytes> {
  const write = await loadIsolate(loader, kind, content)
  return awaitAnswer<DocumentBytes>(write(content), {
    timeoutMs,
    signal,
    answer: (ending) => {
      logCrash(ending, 'writes a document')
      return stopped
    },
  })
}

type WriterEntrypoint = { readonly write: WriteDocument }

async function loadIsolate(loader: WorkerLoader, kind: DocumentKind, content: string): Promise<WriteDocument> {
  const [code, modules] = await Promise.all([writerCode[kind](), loadAssets(kind, content)])
  const isolate = { name: 'writer', code, modules, entrypoint: 'Writer', limits: isolateLimits }
  const entry = openIsolate<WriterEntrypoint>({ loader, ...isolate })
  return async (text) => ({ ...(await entry.write(text)) })
}

/** Defines the RPC interface between a session and the writer of a document, which runs in another isolate. */
type WriteDocument = (content: string) => Promise<DocumentBytes>

/** Imports the code of the isolates that write documents, one library each, and the font and the program that some need. */
const writerCode: Readonly<Record<DocumentKind, () => Promise<string>>> = {
  xlsx: () => readCode(import('../dist/write-xlsx.isolate.txt')),
  docx: () => readCode(import('../dist/write-docx.isolate.txt')),
  pptx: () => readCode(import('../dist/write-pptx.isolate.txt')),
  pdf: () => readCode(import('../dist/write-pdf.isolate.txt')),
  svg: () => readCode(import('../dist/write-svg.isolate.txt')),
  png: () => readCode(import('../dist/write-png.isolate.txt')),
}

type Assets = Readonly<Record<string, WorkerLoaderModule>>

/** The standard fonts of PDF have these letters and a few more. */
const latinOnly = /^[\0-\u00ff]*$/

/** The font is large: text of Western Europe does without it. */
async function loadAssets(kind: DocumentKind, content: string): Promise<Assets> {
  if (kind === 'pdf') return { 'font.ttf': { data: latinOnly.test(content) ? new ArrayBuffer(0) : await loadFont() } }
  if (kind !== 'png') return {}
  const packed = await readCode(import('../dist/resvg-wasm.isolate.txt'))
  return { 'font.ttf': { data: await loadFont() }, 'resvg.wasm': { wasm: await unpack(packed) } }
}

const loadFont = async (): Promise<ArrayBuffer> => unpack(await readCode(import('../dist/font-sans.isolate.txt')))

/** Base64 of gzip: small in the bundle, where text needs no rule of its own. */
const unpack = (packed: string): Promise<ArrayBuffer> =>
  new Response(
    new Blob([decodeBase64Bytes(packed)]).stream().pipeThrough(new DecompressionStream('gzip')),
  ).arrayBuffer()
