/** Renders what the files of a message contain: text, the text of a document, or what is said in a recording. */

import { decodePlainText } from '#agent/core/plain-text.ts'
import type { Pdf, SentFile, TextPart } from '#agent/core/message.ts'
import { attachmentPrefix, storeData } from '#durable/workspace/attachments.ts'
import { storePdf } from '#durable/workspace/pdfs.ts'
import { explainUnread } from '#tools/file/documents/explain-unread.ts'
import { documentFormatOf, extractDocument } from '../core/document-text.ts'
import type { Session } from '../session.ts'

export type PlacedAttachment = {
  readonly path: string
  readonly mediaType: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** Characters of all files of a message. The rest is read by its path. */
const maxChars = 60_000

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
  async render(file: PlacedAttachment): Promise<TextPart | undefined> {
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

  /** The file as its client has sent it. `pdf`: a copy in R2. */
  async keep({ sent, unread }: TextPart, pdf: Pdf | undefined): Promise<SentFile | undefined> {
    if (typeof sent !== 'object' || unread?.content.kind !== 'base64' || sent.url !== undefined)
      return typeof sent === 'object' ? sent : undefined
    const { tenantId, sessionId } = this.#session
    const { data: given } = unread.content
    // The copy of a PDF has the same characters, unless the client has sent white space.
    const data =
      pdf && Number(/\.(\d{1,9})$/.exec(pdf.data)?.[1]) === given.length
        ? pdf.data
        : await storeData(given, this.#blobs, attachmentPrefix(tenantId, sessionId))
    return { ...sent, ...(data !== undefined && { data }) }
  }

  #renderText(file: PlacedAttachment, text: string): string {
    const shown = text.slice(0, this.#charsLeft).toWellFormed()
    this.#charsLeft -= shown.length
    const left = text.length - shown.length
    if (!shown) return `\n[The content of ${file.path} is left out for its length: ${left} characters.]`
    const end = left ? `[${left} more characters of ${file.path} are left out.]` : `[End of ${file.path}]`
    return `\n[${file.path} contains:]\n${shown}\n${end}`
  }

  async #readText(file: PlacedAttachment): Promise<FileText | undefined> {
    const { bytes, mediaType } = file
    if (/^(?:audio|video)\//.test(mediaType)) return { text: await this.#transcribe(file) }
    const document = await this.#readDocument(file)
    if (document !== undefined || mediaType.startsWith('image/')) return document
    const text = decodePlainText(bytes)
    if (text !== undefined) return { text }
    const reason = explainUnread(bytes)
    return reason === undefined ? undefined : { text: `(It${reason})` }
  }

  async #transcribe({ bytes, mediaType }: PlacedAttachment): Promise<string> {
    // The cost of the call is noted in the storage of the session, which may be new.
    if (this.#session.journal.isBlank) this.#session.updateMeta({})
    const said = await this.#session.toolRuntime.paidMedia.transcribe({ bytes, mime: mediaType })
    if (said.kind === 'text') return said.text
    return said.reason === 'not_configured'
      ? '(What is said in it cannot be transcribed here.)'
      : `(What is said in it could not be transcribed: ${said.error})`
  }

  /** Undefined for a file that is no document. */
  async #readDocument(file: PlacedAttachment): Promise<FileText | undefined> {
    const format = documentFormatOf(file.path, file.mediaType)
    if (!format) return undefined
    const found = await extractDocument(this.#session, file.bytes, format)
    return 'text' in found ? found : { ...found, text: `(It${found.reason})` }
  }
}
