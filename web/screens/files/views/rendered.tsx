/** Shows a file as what it is: a page, a table, a document, a picture. Each kind is loaded when it is first shown. */

import { Fragment, type FunctionComponent, type VNode } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { readCsv } from '../../../model/csv.ts'
import { type FileView, viewOf } from '../../../model/file-views.ts'
import { Markdown } from '../../../markdown/draw.tsx'
import { CodeBlock } from '../../../markdown/code-block.tsx'
import { useLate } from '../../../parts/late.ts'
import { t } from '../../../words/words.ts'
import type { FileContent, FilePlace } from '../file-content.ts'
import { DataTable } from './data-table.tsx'
import { DocumentView, SheetsView } from './document-view.tsx'
import { PageFrame } from './page-frame.tsx'

type Props = { readonly file: FileContent; readonly place: FilePlace }

const maxRows = 5_000

/** Whether there is more to show than the source. */
export const isRendered = ({ picture }: FileContent, path: string): boolean =>
  picture !== undefined || viewOf(path) !== undefined

export function Rendered({ file: { blob, picture, text, tag }, place }: Props) {
  const { path, checkpoint } = place
  const view = viewOf(path)
  if (picture !== undefined) return <Picture blob={blob} mime={picture} name={path} />
  const shown =
    view && (textViews[view] ? text !== undefined && textViews[view](text, place) : otherViews[view]?.(place, blob))
  return shown ? (
    <Fragment key={`${path} ${checkpoint ?? ''} ${tag ?? blob.size}`}>{shown}</Fragment>
  ) : (
    <p class="note">{t('noPreview')}</p>
  )
}

type TextViews = { readonly [view in FileView]?: (text: string, place: FilePlace) => VNode }

const textViews: TextViews = {
  page: (text, place) => <PageFrame place={place} html={text} />,
  markdown: (text) => <Markdown text={text} />,
  diagram: (text) => <CodeBlock text={text} lang="mermaid" />,
  table: (text, { path }) => <Csv text={text} name={path} />,
}

type OtherViews = { readonly [view in FileView]?: (place: FilePlace, blob: Blob) => VNode | undefined }

/** The server reads documents as they are now. */
const otherViews: OtherViews = {
  sheets: (place) => (place.checkpoint === undefined ? <SheetsView place={place} /> : undefined),
  document: (place) => (place.checkpoint === undefined ? <DocumentView place={place} /> : undefined),
  pdf: ({ path }, blob) => <Late load={loadPdf} props={{ blob, name: path }} />,
  archive: (_, blob) => <Late load={loadArchive} props={{ blob }} />,
}

const loadPdf = async () => (await import('./pdf-view.tsx')).PdfView
const loadArchive = async () => (await import('./archive-view.tsx')).ArchiveView

type LateProps<Own> = { readonly load: () => Promise<FunctionComponent<Own>>; readonly props: Own }

function Late<Own extends object>({ load, props }: LateProps<Own>) {
  const View = useLate(load, true)
  return View ? <View {...props} /> : <div class="skeleton" />
}

function Csv({ text, name }: { readonly text: string; readonly name: string }) {
  const { rows, hasMore } = useMemo(() => readCsv(text, maxRows), [text])
  return <DataTable key={text} rows={rows} name={name} hasMore={hasMore} />
}

/** An image element runs no script of an SVG. */
function Picture({ blob, mime, name }: { readonly blob: Blob; readonly mime: string; readonly name: string }) {
  const [url, setUrl] = useState('')
  useEffect(() => {
    const made = URL.createObjectURL(blob.slice(0, blob.size, mime))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return url ? <img src={url} alt={name} /> : null
}
