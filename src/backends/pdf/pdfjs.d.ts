/** What is used of PDF.js, as scripts/build-isolate.mjs changes it. */

declare module 'pdfjs' {
  export type PdfItem = { readonly str?: string; readonly hasEOL?: boolean }
  export type PdfPage = {
    readonly streamTextContent: () => ReadableStream<{ readonly items: readonly PdfItem[] }>
    readonly cleanup: () => void
  }
  export type PdfDocument = { readonly numPages: number; readonly getPage: (number: number) => Promise<PdfPage> }
  export type PdfTask = { readonly promise: Promise<PdfDocument>; readonly destroy: () => Promise<void> }

  export const getDocument: (options: Readonly<Record<string, unknown>>) => PdfTask
  export const work: {
    /** Resolves when it is over. */
    readonly begin: (steps: number, hold: () => Promise<void>) => Promise<void>
    /** Steps are counted anew; throws when it is over. */
    readonly rest: () => void
    readonly end: () => void
    readonly over: boolean
  }
}
