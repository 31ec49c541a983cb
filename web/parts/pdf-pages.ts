/** Opens a PDF file and draws its pages. Runs no script of the file, and requests nothing. */

import * as pdfjs from 'unpdf/pdfjs'

export type PdfPages = {
  readonly count: number
  /** Draws a page in the width of its canvas and returns its text. */
  readonly draw: (n: number, canvas: HTMLCanvasElement) => Promise<string>
  readonly close: () => Promise<void>
}
export type OpenPdf = (blob: Blob) => Promise<PdfPages>

const maxPixels = 8_000_000
const maxTextChars = 5_000

export const openPdf: OpenPdf = async (blob) => {
  const data = new Uint8Array(await blob.arrayBuffer())
  const opening = pdfjs.getDocument({ data, useSystemFonts: true, verbosity: 0 })
  const file = await opening.promise
  return {
    count: file.numPages,
    draw: async (n, canvas) => {
      const page = await file.getPage(n)
      const size = page.getViewport({ scale: 1 })
      const wanted = (canvas.clientWidth * devicePixelRatio) / size.width
      const scale = Math.min(wanted, Math.sqrt(maxPixels / (size.width * size.height)))
      const viewport = page.getViewport({ scale })
      canvas.width = Math.floor(viewport.width)
      canvas.height = Math.floor(viewport.height)
      await page.render({ canvas, canvasContext: canvas.getContext('2d') as CanvasRenderingContext2D, viewport })
        .promise
      const { items } = await page.getTextContent()
      return items
        .map((item) => ('str' in item ? item.str : ''))
        .join(' ')
        .slice(0, maxTextChars)
    },
    close: () => opening.destroy(),
  }
}
