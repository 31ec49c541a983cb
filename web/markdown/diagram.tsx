/** Draws Mermaid as a picture. Its library (490 KiB) is loaded when the first diagram is shown. */

import { useEffect, useState } from 'preact/hooks'
import { t } from '../words/words.ts'

/** Larger ones take seconds to lay out. */
const maxChars = 6_000
const maxLines = 150

export const canDraw = (text: string): boolean =>
  text.length <= maxChars && text.split('\n', maxLines + 1).length <= maxLines

/** Undefined: it is not drawn, or cannot be. */
export function useDiagram(text: string, isWanted: boolean): string | undefined {
  const [drawn, setDrawn] = useState<{ readonly text: string; readonly url: string | undefined }>()
  useEffect(() => {
    if (!isWanted || !canDraw(text)) return undefined
    let isHere = true
    const draw = async () => {
      // Without a network, and when it is no Mermaid, the text stays.
      const loaded = await import('./draw-diagram.ts').catch(() => undefined)
      const url = loaded?.drawDiagram(text)
      if (isHere) setDrawn({ text, url })
    }
    void draw()
    return () => void (isHere = false)
  }, [text, isWanted])
  return drawn?.text === text ? drawn.url : undefined
}

/** A picture element runs no script of an SVG, and loads nothing. */
export const Diagram = ({ url, text }: { readonly url: string; readonly text: string }) => (
  <div class="diagram" tabIndex={0}>
    <img src={url} alt={`${t('diagram')}: ${text.slice(0, 500)}`} />
  </div>
)
