/** Defines the port that extracts text from documents. */

export type PdfText = {
  /** The text of each page in order; empty when the page has none. */
  readonly pages: readonly string[]
  /** The number of pages that the file declares. */
  readonly total: number
  /** Page numbers, from 1, that could not be read: damaged or too expensive. */
  readonly unread: readonly number[]
  /** The limit that ended the reading early. */
  readonly stopped?: PdfStop
}

export type PdfStop = 'pages' | 'length' | 'work'

/** `stopped`: the file needs more time or memory than allowed. `size`: it is too large for this deployment. */
export type PdfRefusal = 'encrypted' | 'damaged' | 'stopped' | 'size'

export type PdfAnswer = PdfText | { readonly refused: PdfRefusal; readonly maxBytes?: number }

export type OfficeFormat = 'docx' | 'xlsx' | 'pptx' | 'ipynb'

export type OfficeAnswer = { readonly text: string } | { readonly refused: Exclude<PdfRefusal, 'encrypted'> }

export type Documents = {
  /** Never rejects, even when the reader's isolate crashes. */
  readonly pdf: (bytes: Uint8Array, signal: AbortSignal) => Promise<PdfAnswer>
  /** Never rejects, even when the reader's isolate crashes. */
  readonly office: (bytes: Uint8Array, format: OfficeFormat, signal: AbortSignal) => Promise<OfficeAnswer>
}
