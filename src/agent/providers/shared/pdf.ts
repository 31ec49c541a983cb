/** Decides which models get a PDF file as such, and finds the files that were loaded for a request. */

import type { DialectName, Quirks } from '#agent/core/dialect.ts'
import type { ImagePart, Message, Pdf, TextPart } from '#agent/core/message.ts'
import type { Repairs } from '#agent/core/turn.ts'
import type { ModelFacts } from '../catalog/model-facts.ts'

type PdfModel = {
  readonly dialect: DialectName
  readonly facts?: ModelFacts | undefined
  readonly quirks: Quirks
  readonly repairs: Repairs
}

/** The other dialects have no part for a file, or their providers read only its text. */
export const takesPdfs = ({ dialect, facts, quirks, repairs }: PdfModel): boolean =>
  facts?.pdf === true &&
  repairs.pdfs === undefined &&
  (dialect === 'anthropic' ||
    dialect === 'openai-responses' ||
    dialect === 'gemini' ||
    (dialect === 'openai-chat' && quirks.fileParts === true))

export const hasPdf = (message: Message): boolean =>
  message.role === 'user' && message.content.some((part) => part.type === 'text' && part.pdf !== undefined)

/** Undefined for a part whose text is sent: a stored file is loaded only for a model that takes it. */
export const loadedPdf = (part: TextPart | ImagePart): Pdf | undefined =>
  part.type === 'text' && part.pdf && !part.pdf.data.startsWith('blob:') ? part.pdf : undefined

export const toPdfUrl = ({ data }: Pdf): string => `data:application/pdf;base64,${data}`
