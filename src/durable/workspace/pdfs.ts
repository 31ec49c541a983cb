/**
 * Stores PDF files of users in R2, with a reference beside their extracted text, and loads them for a model that takes
 * PDF files.
 */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { log } from '#agent/core/log.ts'
import type { Message, Pdf, UserMessage } from '#agent/core/message.ts'
import { hasPdf, loadedPdf } from '#agent/providers/shared/pdf.ts'

const storedPrefix = 'blob:'
/** Anthropic refuses files with more pages at a context window of 200,000 tokens. */
const maxPages = 100
/** Base64 of one file. A larger one is sent as its text. */
const maxFileChars = 8_000_000
/** Base64 of all files of one request: an isolate has 128 MB for all its sessions. */
const maxRequestChars = 12_000_000
/** Providers bill a page as its text and as an image. */
const tokensPerPage = 2_500
/** The part of the context window that PDF files may fill. */
const maxWindowShare = 0.3

export type PdfFile = { readonly name: string; readonly pages: number; readonly bytes: Uint8Array<ArrayBuffer> }

/** Undefined for a file that is sent as its text: it is too large, or cannot be stored. */
export async function storePdf(
  { name, pages, bytes }: PdfFile,
  blobs: R2Bucket | undefined,
  prefix: string,
): Promise<Pdf | undefined> {
  if (!blobs || pages > maxPages || (bytes.length * 4) / 3 > maxFileChars) return undefined
  const data = encodeBase64Bytes(bytes)
  // The length is known later without reading the file.
  const key = `${prefix}${crypto.randomUUID()}.${data.length}`
  try {
    await blobs.put(key, data)
  } catch (error) {
    log.error('attachments.unstored', 'A PDF file could not be stored.', { error })
    return undefined
  }
  return { name, pages, data: storedPrefix + key }
}

type PdfSource = {
  readonly blobs: R2Bucket | undefined
  /** Files with another prefix are of another tenant. */
  readonly within: string
  readonly contextWindow: number
}

/** Loads the newest files that fit into a request. The others, and those that are gone, stay as their text. */
export async function loadPdfs(
  transcript: readonly Message[],
  { blobs, within, contextWindow }: PdfSource,
): Promise<readonly Message[]> {
  const chosen = choosePdfs(transcript, Math.floor((contextWindow * maxWindowShare) / tokensPerPage))
  const load = async (part: UserMessage['content'][number]) => {
    if (part.type !== 'text' || !part.pdf || !chosen.has(part.pdf)) return part
    const data = await readStored(part.pdf, blobs, within)
    return data === undefined ? part : { ...part, pdf: { ...part.pdf, data } }
  }
  return Promise.all(
    transcript.map(async (message) => {
      if (message.role !== 'user' || !hasPdf(message)) return message
      const content = await Promise.all(message.content.map(load))
      return content.some((part) => loadedPdf(part)) ? { ...message, content } : message
    }),
  )
}

function choosePdfs(transcript: readonly Message[], maxRequestPages: number): ReadonlySet<Pdf> {
  const chosen = new Set<Pdf>()
  let pages = 0
  let chars = 0
  for (const pdf of transcript.flatMap(listPdfs).toReversed()) {
    pages += pdf.pages
    chars += sizeOf(pdf)
    if (pages > maxRequestPages || chars > maxRequestChars) break
    chosen.add(pdf)
  }
  return chosen
}

const listPdfs = (message: Message): readonly Pdf[] =>
  message.role === 'user' ? message.content.flatMap((part) => (part.type === 'text' && part.pdf ? [part.pdf] : [])) : []

const sizeOf = ({ data }: Pdf): number => Number(/\.(\d{1,9})$/.exec(data)?.[1] ?? data.length)

async function readStored({ data }: Pdf, blobs: R2Bucket | undefined, within: string): Promise<string | undefined> {
  const key = data.slice(storedPrefix.length)
  const object = data.startsWith(storedPrefix + within) ? await blobs?.get(key) : undefined
  return object?.text()
}
