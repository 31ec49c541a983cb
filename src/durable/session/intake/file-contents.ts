/**
 * Renders what the files of a message contain: text, the text of a document, an image, or what is said in a recording. A
 * file that has none of these gets a note.
 */

import { decodePlainText } from '#agent/core/plain-text.ts'
import { decodeCodePage } from '#agent/core/code-pages.ts'
import { BackendError } from '#agent/core/backend.ts'
import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import { log } from '#agent/core/log.ts'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import { allMarks, joinMarks } from '#agent/core/marks.ts'
import type { ImagePart, Message, Pdf, SentFile, TextPart, UnreadFile, UserMessage } from '#agent/core/message.ts'
import { typedIn } from '#agent/untrusted/typed-text.ts'
import { blobPrefix } from '#durable/platform/addresses.ts'
import { attachmentPrefix, storeData, storeImages } from '#durable/workspace/attachments.ts'
import { storePdf } from '#durable/workspace/pdfs.ts'
import type { VoiceText } from '#durable/turn/media/transcribe-sound.ts'
import { detectDocument } from '#tools/file/documents/detect-document.ts'
import { explainBinary } from '#tools/file/documents/explain-unread.ts'
import { type DocumentFormat, documentFormatOf, extractDocument } from '../core/document-text.ts'
import type { Session } from '../session.ts'

export type PlacedAttachment = {
  readonly path: string
  readonly mediaType: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** Characters of all files of a message. The rest is read by its path. */
const maxChars = 60_000
/** Larger images are files only: models do not accept them. */
const maxImageBytes = 4_500_000
/** Base64 of all images of a message that stand in its row, where there is no bucket. */
const maxInlineChars = 1_000_000
const shownImages: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** `pages`: of a PDF that a model may read as such. `note`: words behind "It", which say why there is no text. */
type FileText = { readonly text: string; readonly pages?: number } | { readonly note: string; readonly pages?: number }

type ReadFile = {
  readonly mediaType: string
  readonly parts: readonly (TextPart | ImagePart)[]
  readonly pdf?: Pdf | undefined
}

/** Adds up what the files of one message have used of the budget. */
export class FileContents {
  readonly #session: Session
  readonly #blobs: R2Bucket | undefined
  #charsLeft = maxChars
  #inlineChars = 0

  constructor(session: Session, blobs: R2Bucket | undefined) {
    this.#session = session
    this.#blobs = blobs
  }

  /** The content of a file, or a note that says why there is none and what can be done. A PDF file stands beside its text. */
  async render(file: PlacedAttachment): Promise<TextPart | ImagePart> {
    const image = await this.#readImage(file)
    if (image) return image
    const found = await this.#readText(file)
    const name = file.path.slice(file.path.lastIndexOf('/') + 1)
    const pdf =
      found.pages === undefined
        ? undefined
        : await storePdf({ name, pages: found.pages, bytes: file.bytes }, this.#blobs, this.#prefix)
    const shown = 'note' in found ? this.note(file.path, found.note) : this.#renderText(file, found.text)
    return { ...shown, ...(pdf && { pdf }) }
  }

  /** `words`: behind "It". Notes are short and not part of the budget. */
  note(path: string, words: string): TextPart {
    return { type: 'text', text: `\n[${path} contains:]\n(It${words})\n[End of ${path}]` }
  }

  /** Writes a file into the workspace, and returns what its message shows of it. */
  async read(path: string, file: UnreadFile): Promise<ReadFile> {
    const bytes = await this.#readBytes(file)
    if (!bytes)
      return { mediaType: file.mediaType, parts: [this.note(path, ' is not stored any more. Ask for it again.')] }
    if (isOfOthers(file)) {
      const { backend, fileMarks } = this.#session.toolRuntime
      fileMarks.set(backend.resolve(path), allMarks)
    }
    const mediaType = this.typeOf(bytes, file.mediaType)
    const unwritten = await this.write(path, bytes)
    const rendered = await this.render({ path, mediaType, bytes })
    const parts = unwritten ? [rendered, unwritten] : [rendered]
    return { mediaType, parts, pdf: rendered.type === 'text' ? rendered.pdf : undefined }
  }

  /** Undefined for a file that was written, else a note. */
  async write(path: string, bytes: Uint8Array): Promise<TextPart | undefined> {
    const { userFiles, resolve } = this.#session.toolRuntime.backend
    try {
      await userFiles.write(resolve(path), bytes)
      return undefined
    } catch (error) {
      if (!(error instanceof BackendError)) throw error
      log.warn('workspace.file_unwritten', 'A file of a message could not be written.', { error })
      return this.note(path, ` is not in the workspace, because it could not be written: ${error.message}`)
    }
  }

  /** The bytes decide. Only sound stays sound in a container that also holds films. */
  typeOf(bytes: Uint8Array, named: string): string {
    const detected = detectMediaType(bytes)?.mime ?? named
    return named.startsWith('audio/') && detected.startsWith('video/') ? named : detected
  }

  async #readBytes({ content }: UnreadFile): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (content.kind === 'base64') return decodeBase64Bytes(content.data)
    if (!content.key.startsWith(blobPrefix(this.#session.tenantId))) return undefined
    const object = await this.#blobs?.get(content.key)
    return object ? new Uint8Array(await object.arrayBuffer()) : undefined
  }

  get #prefix(): string {
    return attachmentPrefix(this.#session.tenantId, this.#session.sessionId)
  }

  /** The file as its client has sent it. `pdf`: a copy in R2. */
  async keep({ sent, unread }: TextPart, pdf: Pdf | undefined): Promise<SentFile | undefined> {
    if (typeof sent !== 'object' || unread?.content.kind !== 'base64' || sent.url !== undefined)
      return typeof sent === 'object' ? sent : undefined
    const { data: given } = unread.content
    // The copy of a PDF has the same characters, unless the client has sent white space.
    const data =
      pdf && Number(/\.(\d{1,9})$/.exec(pdf.data)?.[1]) === given.length
        ? pdf.data
        : await storeData(given, this.#blobs, this.#prefix)
    return { ...sent, ...(data !== undefined && { data }) }
  }

  #renderText({ path }: PlacedAttachment, text: string): TextPart {
    const shown = text.slice(0, this.#charsLeft).toWellFormed()
    this.#charsLeft -= shown.length
    const left = text.length - shown.length
    const end = left ? `[${left} more characters of ${path} are left out.]` : `[End of ${path}]`
    return {
      type: 'text',
      text: shown
        ? `\n[${path} contains:]\n${shown}\n${end}`
        : `\n[The content of ${path} is left out for its length: ${left} characters.]`,
    }
  }

  /** Undefined for a file that is no image, or one that no model takes. */
  async #readImage({ bytes, mediaType }: PlacedAttachment): Promise<ImagePart | undefined> {
    if (!shownImages.has(mediaType) || bytes.length > maxImageBytes || !bytes.length) return undefined
    const image = { type: 'image', mediaType, data: encodeBase64Bytes(bytes) } as const
    if (!this.#blobs && (this.#inlineChars += image.data.length) > maxInlineChars) return undefined
    const { content } = await storeImages({ role: 'user', content: [image] }, this.#blobs, this.#prefix)
    return content[0]?.type === 'image' ? content[0] : undefined
  }

  async #readText(file: PlacedAttachment): Promise<FileText> {
    const { bytes, mediaType } = file
    const known = bytes.length ? await this.#readDocument(file, detectDocument(bytes)) : { note: ' is empty.' }
    if (known) return known
    if (/^(?:audio|video)\//.test(mediaType)) return this.#transcribe(file)
    if (isPicture(mediaType)) return { note: explainPicture(file) }
    const document = await this.#readDocument(file, documentFormatOf(file.path, mediaType))
    if (document) return document
    const text = decodePlainText(bytes)
    if (text !== undefined) return text.trim() ? { text } : { note: ' has only white space.' }
    const guessed = decodeCodePage(bytes)
    return guessed
      ? { text: `(Its encoding is probably ${guessed.encoding}.)\n${guessed.text}` }
      : { note: explainBinary(bytes) }
  }

  async #transcribe({ bytes, mediaType }: PlacedAttachment): Promise<FileText> {
    // The cost of the call is noted in the storage of the session, which may be new.
    if (this.#session.journal.isBlank) this.#session.updateMeta({})
    const said = await this.#session.toolRuntime.paidMedia.transcribe({ bytes, mime: mediaType })
    return said.kind === 'text' && said.text.trim() ? { text: said.text } : { note: explainUnsaid(said) }
  }

  async #readDocument({ bytes }: PlacedAttachment, format: DocumentFormat | undefined): Promise<FileText | undefined> {
    if (!format) return undefined
    const found = await extractDocument(this.#session, bytes, format)
    if ('reason' in found) return { ...found, note: found.reason }
    return found.text.trim() ? found : { ...found, note: ' has no text.' }
  }
}

/** An SVG is text. */
const isPicture = (mediaType: string): boolean => mediaType.startsWith('image/') && mediaType !== 'image/svg+xml'

function explainPicture({ bytes, mediaType }: PlacedAttachment): string {
  if (!shownImages.has(mediaType))
    return ` is a picture of the type ${mediaType}, which models do not take. Ask for it as PNG or JPEG, or convert it where the machine can.`
  const reason = bytes.length > maxImageBytes ? 'too large for models' : 'too large to be stored here'
  return ` is a picture that is ${reason}. Make a smaller copy and read that, or ask for one.`
}

const explainUnsaid = (said: VoiceText): string => {
  if (said.kind === 'text') return ' is a recording in which nothing is said.'
  return said.reason === 'not_configured'
    ? ' is a recording. What is said in it cannot be transcribed here: no transcriber is configured. Ask for it as text.'
    : ` is a recording. What is said in it could not be transcribed: ${said.error} Ask for it as text, or for another recording.`
}

/** Somebody else may have written a file, but not what the sender says. */
const isOfOthers = ({ mediaType }: UnreadFile): boolean => !mediaType.startsWith('audio/')

/** The marks of a message with files that are not read yet, and what its sender has typed. */
export function markFiles(message: Message): Pick<UserMessage, 'marks' | 'typed'> {
  if (message.role !== 'user') return {}
  const words = message.content.filter((part) => part.type !== 'text' || part.unread === undefined)
  const hasForeign = message.content.some((part) => part.type === 'text' && part.unread && isOfOthers(part.unread))
  return hasForeign ? { marks: joinMarks(message.marks, allMarks), typed: typedIn({ ...message, content: words }) } : {}
}
