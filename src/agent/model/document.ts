/** Files that only a parser of their own can read, as text. */

export type PdfText = {
  /** Text of each page that was read, in order. Empty: the page has none. */
  readonly pages: readonly string[]
  /** Pages of the file, as it says itself. */
  readonly total: number
  /** Numbers of pages, from 1, that could not be read: damaged, or too much work. */
  readonly unread: readonly number[]
  /** Why the rest was not read, when there is one. */
  readonly stopped?: PdfStop
}

export type PdfStop = 'pages' | 'length' | 'work'

/** `stopped`: reading it takes more time or memory than any file gets. `size`: more than can be read on this deployment. */
export type PdfRefusal = 'encrypted' | 'damaged' | 'stopped' | 'size'

export type PdfAnswer = PdfText | { readonly refused: PdfRefusal; readonly most?: number }

export type Documents = {
  /** Always answers, even for a reader that died. */
  readonly pdf: (bytes: Uint8Array, signal: AbortSignal) => Promise<PdfAnswer>
}
