/** Turns Mermaid into an SVG, as the address of a picture. */

import { renderMermaidSVG } from 'beautiful-mermaid'
import { normaliseMermaid, showSigns } from '../model/mermaid-text.ts'

export function drawDiagram(text: string): string | undefined {
  const { color: fg, backgroundColor: bg } = getComputedStyle(document.documentElement)
  const known = normaliseMermaid(text)
  if (known === undefined) return undefined
  try {
    const svg = renderMermaidSVG(known, { fg, bg, transparent: true, font: 'system-ui', padding: 12 })
    // A picture could not load the font anyway.
    return `data:image/svg+xml,${encodeURIComponent(showSigns(svg.replace(/@import[^;]{0,300};/g, '')))}`
  } catch {
    return undefined
  }
}
