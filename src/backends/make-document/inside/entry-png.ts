/** Draws an SVG as PNG with a font of its own, in a worker without network, secrets or session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import { initWasm, Resvg } from '@resvg/resvg-wasm'
import font from 'font.ttf'
import resvgWasm from 'resvg.wasm'
import type { DocumentBytes } from '#agent/core/media/document-writer.ts'
import { resolveVariables } from './css-variables.ts'
import { listMissing, readCharacters, warnOfMissing } from './font-characters.ts'

const family = 'DejaVu Sans'
/** Pixels of the longer side. Small drawings are drawn twice as large, so that their text stays sharp. */
const maxSide = 4_096
const zoom = 2

/** The isolate draws more than once, and the program may be started once. */
let starting: Promise<void> | undefined

export class Writer extends WorkerEntrypoint {
  async write(content: string): Promise<DocumentBytes> {
    // Entities grow without limit; diagrams do not need them.
    if (/<!ENTITY/i.test(content)) return { refused: 'An SVG with entities is not drawn.' }
    await (starting ??= initWasm(resvgWasm))
    try {
      return draw(resolveVariables(content))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return { refused: `The SVG cannot be drawn: ${reason.slice(0, 300)}` }
    }
  }
}

function draw(svg: string): DocumentBytes {
  const { width, height } = new Resvg(svg)
  if (!(width > 0 && height > 0)) return { refused: 'The SVG has no size.' }
  const scale = Math.min(zoom, maxSide / Math.max(width, height))
  if (Math.min(width, height) * scale < 1) return { refused: 'The SVG is too long and too thin to be drawn.' }
  const drawing = new Resvg(svg, {
    fitTo: { mode: 'zoom', value: scale },
    background: '#ffffff',
    font: {
      fontBuffers: [new Uint8Array(font)],
      defaultFontFamily: family,
      sansSerifFamily: family,
      serifFamily: family,
      monospaceFamily: family,
    },
  })
  const missing = listMissing(textOf(svg), readCharacters(font))
  const warnings = warnOfMissing(missing, 'They are not drawn. Make an svg instead.')
  return { bytes: drawing.render().asPng(), ...(warnings.length && { warnings }) }
}

/** The text between tags; style sheets count too, which are Latin. */
const textOf = (svg: string): string => svg.replace(/<[^<>]*>/g, ' ')
