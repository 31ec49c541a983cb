/** Defines the RPC interface between a session and its reader of HTML pages, which may run in another isolate. */

export type PageRequest = {
  /** The address after redirects, against which links are resolved. */
  readonly url: string
  /** Of the content type. */
  readonly charset?: string
}

export type PageText = {
  readonly title: string
  readonly markdown: string
  /** The page has scripts and next to no text: only a browser shows it. */
  readonly needsScript: boolean
  /** ISO 8601, as the page states it. */
  readonly date?: string
  readonly language?: string
  /** The address to which the page sends browsers. It was not called. */
  readonly refresh?: string
  /** Whether the article was found, or the whole page was converted. */
  readonly by: 'article' | 'page'
}

/** `stopped`: the page needs more time or memory than allowed. */
export type PageAnswer = PageText | { readonly refused: 'stopped' }

export type ReadPage = (html: ReadableStream<Uint8Array>, request: PageRequest) => Promise<PageText>
