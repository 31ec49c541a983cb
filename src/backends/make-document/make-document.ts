/**
 * Writes documents in isolates of the session, which have neither network nor secrets. Always resolves with an answer, even when
 * the isolate crashes.
 */

import { readCode } from '../isolate-code.ts'
import type { DocumentBytes, DocumentKind, DocumentWriter } from '#agent/core/media/document-writer.ts'
import { limitConcurrency } from '../limit-concurrency.ts'
import { removeIllegal } from './legal-text.ts'
import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { awaitAnswer, logCrash, openIsolate, replaceIsolate } from '../open-isolate.ts'

const isolateLimits = { cpuMs: 20_000, subRequests: 10 }
const timeoutMs = 40_000
/** Concurrent isolates of one Durable Object: the platform allows ten, and others need some. */
const maxConcurrent = 1

/** `owner`: the session, whose documents of one kind share an isolate. */
export function openDocumentWriter(loader: WorkerLoader, owner: string): DocumentWriter['write'] {
  const limited = limitConcurrency(maxConcurrent)
  const write = (job: DocumentJob) => writeInIsolate(loader, owner, job)
  return (kind, given, signal) =>
    limited(async () => {
      const content = removeIllegal(given)
      if (kind !== 'png' || isSvg(content)) return write({ kind, content, signal })
      const drawn = await write({ kind: 'svg', content, signal })
      if ('refused' in drawn) return drawn
      return write({ kind, content: new TextDecoder().decode(drawn.bytes), signal })
    })
}

type DocumentJob = { readonly kind: DocumentKind; readonly content: string; readonly signal: AbortSignal }

const isSvg = (content: string): boolean => /^\s{0,100}<(?:\?xml|svg|!)/i.test(content)

const stopped: DocumentBytes = { refused: 'It takes too much time or memory. Make a smaller document.' }

async function writeInIsolate(
  loader: WorkerLoader,
  owner: string,
  { kind, content, signal }: DocumentJob,
): Promise<DocumentBytes> {
  const assets = await loadAssets(kind, content)
  // An isolate keeps the modules that it was started with.
  const isolate = { name: 'writer', sharedBy: `${kind}${assets.hasFont ? '+font' : ''}:${owner}` }
  const write = await loadIsolate(loader, isolate, { code: await writerCode[kind](), modules: assets.modules })
  return awaitAnswer<DocumentBytes>(write(content), {
    timeoutMs,
    signal,
    answer: (ending) => {
      logCrash(ending, 'writes a document')
      replaceIsolate(isolate)
      return stopped
    },
  })
}

type WriterEntrypoint = { readonly write: WriteDocument }

async function loadIsolate(
  loader: WorkerLoader,
  isolate: { readonly name: string; readonly sharedBy: string },
  program: { readonly code: string; readonly modules: Assets['modules'] },
): Promise<WriteDocument> {
  const entry = await openIsolate<WriterEntrypoint>({
    loader,
    ...isolate,
    ...program,
    entrypoint: 'Writer',
    limits: isolateLimits,
  })
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

type Assets = { readonly hasFont: boolean; readonly modules: Readonly<Record<string, WorkerLoaderModule>> }

/** The standard fonts of PDF have these letters and a few more. */
const latinOnly = /^[\0-\u00ff]*$/

/** The font is large: text of Western Europe does without it. */
async function loadAssets(kind: DocumentKind, content: string): Promise<Assets> {
  const hasFont = kind === 'png' || (kind === 'pdf' && !latinOnly.test(content))
  if (kind === 'pdf')
    return { hasFont, modules: { 'font.ttf': { data: hasFont ? await loadFont() : new ArrayBuffer(0) } } }
  if (kind !== 'png') return { hasFont, modules: {} }
  const packed = await readCode(import('../dist/resvg-wasm.isolate.txt'))
  return { hasFont, modules: { 'font.ttf': { data: await loadFont() }, 'resvg.wasm': { wasm: await unpack(packed) } } }
}

const loadFont = async (): Promise<ArrayBuffer> => unpack(await readCode(import('../dist/font-sans.isolate.txt')))

/** Base64 of gzip: small in the bundle, where text needs no rule of its own. */
const unpack = (packed: string): Promise<ArrayBuffer> =>
  new Response(
    new Blob([decodeBase64Bytes(packed)]).stream().pipeThrough(new DecompressionStream('gzip')),
  ).arrayBuffer()
