/** Types of the used parts of PDF.js, as patched by scripts/build-isolate.mjs. */

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
    /** Resolves when the work has ended. */
    readonly begin: (steps: number, hold: () => Promise<void>) => Promise<void>
    /** Resets the step counter; throws when the work has ended. */
    readonly rest: () => void
    readonly end: () => void
    readonly over: boolean
  }
}
