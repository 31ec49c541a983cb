/** Renders the text of a PDF page by page. A heading line per page also names unread and missing pages. */

import type { PdfStop, PdfText } from './document.ts'

/** `advice`: a sentence for the reader when pages are missing. */
export function renderPdf(answer: PdfText, advice = ''): string {
  const { pages, total } = answer
  const parts = pages.map((text, at) => `[Page ${at + 1} of ${total}${pageRemark(answer, at)}]\n${text}`.trimEnd())
  return [...parts, ...renderMissingPages(answer, advice)].join('\n\n')
}

function pageRemark({ pages, unread }: PdfText, at: number): string {
  if (unread.includes(at + 1)) return ': it could not be read'
  return pages[at] === '' ? ': no text' : ''
}

const stopReasons: Readonly<Record<PdfStop, string>> = {
  pages: 'no more pages of a file are read',
  length: 'no more text of a file is read',
  work: 'they take too much time or memory',
}

function renderMissingPages({ pages, total, stopped }: PdfText, advice: string): readonly string[] {
  if (stopped === undefined) return []
  const text = `Pages ${pages.length + 1} to ${total} are missing: ${stopReasons[stopped]}.`
  return [`[${text}${advice && ` ${advice}`}]`]
}
