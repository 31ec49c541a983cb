/** Creates PDF files. */

const bytesOf = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0))

const joined = (parts: readonly Uint8Array[]) => {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** An object: its text, or a stream's dictionary and content. */
type Entry = string | readonly [words: string, content: Uint8Array]

/** Numbered from 1; the first is the catalog. */
export function pdfOf(entries: readonly Entry[], trailer = ''): Uint8Array {
  const parts: Uint8Array[] = []
  const places: number[] = []
  let size = 0
  const put = (part: string | Uint8Array) => {
    const bytes = typeof part === 'string' ? bytesOf(part) : part
    size += bytes.length
    parts.push(bytes)
  }
  put('%PDF-1.7\n')
  entries.forEach((entry, i) => {
    places.push(size)
    put(`${i + 1} 0 obj\n`)
    if (typeof entry === 'string') put(entry)
    else {
      put(`<<${entry[0]}/Length ${entry[1].length}>>stream\n`)
      put(entry[1])
      put('\nendstream')
    }
    put('\nendobj\n')
  })
  const table = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('')
  const start = size
  put(`xref\n0 ${entries.length + 1}\n0000000000 65535 f \n${table}`)
  put(`trailer <</Size ${entries.length + 1}/Root 1 0 R ${trailer}>>\nstartxref\n${start}\n%%EOF`)
  return joined(parts)
}

export async function packed(text: string): Promise<Entry> {
  const stream = new Response(text).body?.pipeThrough(new CompressionStream('deflate'))
  return ['/Filter/FlateDecode', new Uint8Array(await new Response(stream ?? null).arrayBuffer())]
}

export const lines = (...texts: readonly string[]): string =>
  texts.map((text, i) => `BT /F 12 Tf 40 ${700 - 20 * i} Td (${text}) Tj ET`).join('\n')

type Shape = {
  /** What the file says of itself. */
  readonly count?: number
  readonly kids?: string
  readonly trailer?: string
  /** More objects, from number 4 + 2 × pages on. */
  readonly more?: readonly Entry[]
  readonly resources?: string
}

/** Creates a file whose pages have these contents, compressed. */
export async function pdfWith(contents: readonly string[], shape: Shape = {}): Promise<Uint8Array> {
  const { count = contents.length, trailer = '', more = [], resources = '' } = shape
  const { kids = contents.map((_, i) => `${4 + 2 * i} 0 R`).join(' ') } = shape
  const pages: Entry[] = []
  for (const [i, content] of contents.entries()) {
    const used = `/Resources<</Font<</F 3 0 R>>${resources}>>`
    pages.push(`<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents ${5 + 2 * i} 0 R${used}>>`)
    pages.push(await packed(content))
  }
  const head = ['<</Type/Catalog/Pages 2 0 R>>', `<</Type/Pages/Kids[${kids}]/Count ${count}>>`]
  return pdfOf([...head, '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>', ...pages, ...more], trailer)
}
