/** Renders what the files of a message contain: text, the text of a document, or what is said in a recording. */

import type { TextPart } from '#agent/core/message.ts'
import { attachmentPrefix } from '#durable/workspace/attachments.ts'
import { storePdf } from '#durable/workspace/pdfs.ts'
import { documentFormatOf, extractDocument } from '../core/document-text.ts'
import type { Session } from '../session.ts'

export type PlacedFile = {
  readonly path: string
  readonly mediaType: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** Characters of all files of a message. The rest is read by its path. */
const maxChars = 60_000
const zeroByte = 0
/** Text has no zero byte at its beginning. */
const sniffedBytes = 8_192

/** `pages`: of a PDF that a model may read as such. */
type FileText = { readonly text: string; readonly pages?: number }

/** Adds up what the files of one message have used of the budget. */
export class FileContents {
  readonly #session: Session
  readonly #blobs: R2Bucket | undefined
  #charsLeft = maxChars

  constructor(session: Session, blobs: R2Bucket | undefined) {
    this.#session = session
    this.#blobs = blobs
  }

  /** Undefined for a file that has no text. A PDF file stands beside its text. */
  async render(file: PlacedFile): Promise<TextPart | undefined> {
    const found = await this.#readText(file)
    if (!found?.text) return undefined
    const { tenantId, sessionId } = this.#session
    const name = file.path.slice(file.path.lastIndexOf('/') + 1)
    const pdf =
      found.pages === undefined
        ? undefined
        : await storePdf(
            { name, pages: found.pages, bytes: file.bytes },
            this.#blobs,
            attachmentPrefix(tenantId, sessionId),
          )
    return { type: 'text', text: this.#renderText(file, found.text), ...(pdf && { pdf }) }
  }

  #renderText(file: PlacedFile, text: string): string {
    const shown = text.slice(0, this.#charsLeft).toWellFormed()
    this.#charsLeft -= shown.length
    const left = text.length - shown.length
    if (!shown) return `\n[The content of ${file.path} is left out for its length: ${left} characters.]`
    const end = left ? `[${left} more characters of ${file.path} are left out.]` : `[End of ${file.path}]`
    return `\n[${file.path} contains:]\n${shown}\n${end}`
  }

  async #readText(file: PlacedFile): Promise<FileText | undefined> {
    const { bytes, mediaType } = file
    if (/^(?:audio|video)\//.test(mediaType)) return { text: await this.#transcribe(file) }
    const document = await this.#readDocument(file)
    if (document !== undefined || mediaType.startsWith('image/')) return document
    const text = decodeText(bytes)
    return text === undefined ? undefined : { text }
  }

  async #transcribe({ bytes, mediaType }: PlacedFile): Promise<string> {
    // The cost of the call is noted in the storage of the session, which may be new.
    if (this.#session.journal.isBlank) this.#session.updateMeta({})
    const said = await this.#session.toolRuntime.paidMedia.transcribe({ bytes, mime: mediaType })
    if (said.kind === 'text') return said.text
    return said.reason === 'not_configured'
      ? '(What is said in it cannot be transcribed here.)'
      : `(What is said in it could not be transcribed: ${said.error})`
  }

  /** Undefined for a file that is no document. */
  async #readDocument(file: PlacedFile): Promise<FileText | undefined> {
    const format = documentFormatOf(file.path, file.mediaType)
    if (!format) return undefined
    const found = await extractDocument(this.#session, file.bytes, format)
    return 'text' in found ? found : { ...found, text: `(It${found.reason})` }
  }
}

/** Undefined for bytes that are no text in UTF-8. */
function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.subarray(0, sniffedBytes).includes(zeroByte)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    return undefined
  }
}
