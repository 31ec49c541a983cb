/** Finds the sources that a text names, and the labels of its footnotes. */

import type { Block, Node } from './lex.ts'
import type { CheckedLink } from './links.ts'

export type Source = { readonly link: CheckedLink; readonly title: string }
export type Named = { readonly sources: readonly Source[]; readonly notes: readonly string[] }

export function collectNamed(blocks: readonly Block[]): Named {
  const sources = new Map<string, Source>()
  const notes: string[] = []
  const visit = (node: Node): void => {
    if (node.tag === 'source' && node.link) {
      const { href } = node.link
      const known = sources.get(href)
      const isSuspicious = node.link.isSuspicious || known?.link.isSuspicious === true
      sources.set(href, { link: { ...node.link, isSuspicious }, title: known?.title || node.title })
    }
    if (node.tag === 'note') notes.push(node.label)
    for (const child of childrenOf(node)) visit(child)
  }
  for (const { nodes } of blocks) for (const node of nodes) visit(node)
  return { sources: [...sources.values()], notes }
}

function childrenOf(node: Node): readonly Node[] {
  if (node.tag === 'list') return node.items.flatMap(({ children }) => children)
  if (node.tag === 'table') return [node.head, ...node.rows].flat().flatMap(({ children }) => children)
  if (node.tag === 'fold') return [...node.summary, ...node.children]
  return 'children' in node ? node.children : []
}
