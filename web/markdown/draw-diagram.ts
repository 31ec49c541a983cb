/** Turns Mermaid into an SVG, as the address of a picture. */

import { renderMermaidSVG } from 'beautiful-mermaid'

export function drawDiagram(text: string): string | undefined {
  const { color: fg, backgroundColor: bg } = getComputedStyle(document.documentElement)
  try {
    const svg = renderMermaidSVG(text, { fg, bg, transparent: true, font: 'system-ui', padding: 12 })
    // A picture could not load the font anyway.
    return `data:image/svg+xml,${encodeURIComponent(svg.replace(/@import[^;]{0,300};/g, ''))}`
  } catch {
    return undefined
  }
}
