/** Defines the port through which tools search the web and read pages. */

export type WebResult = {
  readonly title: string
  readonly url: string
  readonly description: string
  /** From 1. */
  readonly position: number
}

export type SearchAnswer =
  | { readonly kind: 'found'; readonly hits: readonly WebResult[]; readonly servedBy: string }
  /** The sentence is for the model and for people. */
  | { readonly kind: 'failed'; readonly error: string }

export type PageResult = {
  readonly url: string
  readonly title: string
  /** Markdown or text: the head, the tail and the path of the full text when it is long. */
  readonly content: string
  readonly error?: string
  /** The guard refused the address. */
  readonly isBlocked?: true
}

export type WebPort = {
  readonly search: (query: string, limit: number, signal: AbortSignal) => Promise<SearchAnswer>
  /** Never rejects. `question`: a page that is longer is answered for it by another model, where there is one. */
  readonly extract: (url: string, maxChars: number, signal: AbortSignal, question?: string) => Promise<PageResult>
}
