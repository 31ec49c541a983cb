/** Types of the used parts of the DOM and of Readability. Their own types need the library of browsers. */

declare module 'linkedom/worker' {
  export type PageElement = {
    readonly lang?: string
    readonly getAttribute: (name: string) => string | null
    readonly setAttribute: (name: string, value: string) => void
  }
  export type PageDocument = {
    readonly documentElement: PageElement | null
    readonly querySelectorAll: (selector: string) => Iterable<PageElement>
  }
  export const parseHTML: (html: string) => { readonly document: PageDocument }
}

declare module '@mozilla/readability' {
  export class Readability {
    constructor(document: import('linkedom/worker').PageDocument, options?: { readonly keepClasses?: boolean })
    parse(): {
      readonly title?: string | null
      readonly content?: string | null
      readonly length?: number | null
      readonly lang?: string | null
      readonly publishedTime?: string | null
    } | null
  }
}
