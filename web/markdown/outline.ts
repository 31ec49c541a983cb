/** Gives headings their level in the outline of a page. */

import type { Block, Node } from './lex.ts'

/** The page has the first level. */
const firstLevel = 2

type Outlined = {
  readonly blocks: readonly Block[]
  /** The depths of the headings that are open at the end, outermost first. */
  readonly depths: readonly number[]
}

/** A heading is one level below the last one that has a lesser depth, so that no level is left out. */
export function outline(blocks: readonly Block[], before: readonly number[]): Outlined {
  let depths = before
  const place = (node: Node): Node => {
    if (node.tag !== 'heading') return node
    depths = [...depths.filter((depth) => depth < node.depth), node.depth]
    return { ...node, level: Math.min(6, firstLevel + depths.length - 1) }
  }
  const placed = blocks.map((block) => ({ ...block, nodes: block.nodes.map(place) }))
  return { blocks: placed, depths }
}
