/** Chooses how a file of the workspace is shown beside its source. */

import { extensionOf } from './workspace-files.ts'

export type FileView = 'page' | 'markdown' | 'table' | 'sheets' | 'document' | 'pdf' | 'diagram' | 'archive'

const views: Readonly<Record<string, FileView>> = Object.fromEntries(
  Object.entries({
    page: 'html htm xhtml',
    markdown: 'md markdown mdx',
    table: 'csv tsv',
    sheets: 'xlsx',
    document: 'docx pptx ipynb',
    pdf: 'pdf',
    diagram: 'mmd mermaid',
    archive: 'zip jar epub whl tar tgz',
  }).flatMap(([view, extensions]) => extensions.split(' ').map((extension) => [extension, view as FileView])),
)

/** Undefined: only its source is shown. */
export function viewOf(path: string): FileView | undefined {
  if (/\.tar\.gz$/i.test(path)) return 'archive'
  const extension = extensionOf(path)
  return Object.hasOwn(views, extension) ? views[extension] : undefined
}

/** Whether a page does more than show itself. What it does not recognise has no effect: the page then runs no script. */
export const hasScripts = (html: string): boolean =>
  /<script[\s>/]|\son[a-z]{3,20}\s*=|(?:href|src|action)\s*=\s*["']?\s*javascript:/i.test(html)
