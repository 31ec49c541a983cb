/** Draws math. Its library (59 KiB) is loaded when the first formula is shown. Until then its TeX stands there. */

import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'

type Props = { readonly text: string; readonly isBlock: boolean }

export function Math({ text, isBlock }: Props) {
  const [drawn, setDrawn] = useState<{ readonly text: string; readonly node: VNode }>()
  useEffect(() => {
    let isWanted = true
    const draw = async () => {
      // Without a network the TeX stays.
      const loaded = await import('./draw-math.ts').catch(() => undefined)
      const node = loaded?.drawMath(text, isBlock)
      if (isWanted && node) setDrawn({ text, node })
    }
    void draw()
    return () => void (isWanted = false)
  }, [text, isBlock])
  const content = drawn?.text === text ? drawn.node : <code>{text}</code>
  return isBlock ? (
    <span class="math" tabIndex={0} role="group" aria-label={text}>
      {content}
    </span>
  ) : (
    <span class="math-inline">{content}</span>
  )
}
