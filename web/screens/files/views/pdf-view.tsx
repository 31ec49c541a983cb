/** Draws the pages of a PDF file. PDF.js (480 KiB) is loaded with the first one, and a page when it comes into view. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { Panel, useLoad } from '../../../parts/load.tsx'
import { t } from '../../../words/words.ts'
import type { PdfPages } from '../../../parts/pdf-pages.ts'

type Props = { readonly blob: Blob; readonly name: string }

const maxPages = 200

export function PdfView({ blob, name }: Props) {
  const pdf = useLoad(async () => (await import('../../../parts/pdf-pages.ts')).openPdf(blob), name)
  useEffect(() => () => void pdf.data?.close(), [pdf.data])
  return (
    <Panel of={pdf}>
      {(pages) => (
        <div class="pdf" tabIndex={0} role="region" aria-label={name}>
          {Array.from({ length: Math.min(pages.count, maxPages) }, (_, at) => (
            <Page key={at} pages={pages} at={at + 1} />
          ))}
          {pages.count > maxPages && <p class="note">{t('truncated')}</p>}
        </div>
      )}
    </Panel>
  )
}

function Page({ pages, at }: { readonly pages: PdfPages; readonly at: number }) {
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const [text, setText] = useState('')
  useEffect(() => {
    const draw = async () => {
      if (canvas.current) setText(await pages.draw(at, canvas.current))
    }
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry?.isIntersecting) return
      observer.disconnect()
      // A page that cannot be drawn stays empty, with its number.
      void draw().catch(() => undefined)
    })
    if (frame.current) observer.observe(frame.current)
    return () => observer.disconnect()
  }, [pages])
  return (
    <div class="pdf-page" ref={frame}>
      <canvas ref={canvas} role="img" aria-label={`${t('pageOf', { n: at, count: pages.count })} ${text}`} />
    </div>
  )
}
