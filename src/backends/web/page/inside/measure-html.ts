/**
 * Measures HTML in one pass of its parser, without a tree. Making the tree and finding the article in it takes time that
 * grows faster than these numbers, so that hostile pages would take minutes.
 */

import { Parser } from 'htmlparser2'

export type HtmlSize = {
  readonly elements: number
  readonly depth: number
  /** The sum of the depths of all elements, because each is looked up in those around it. */
  readonly nesting: number
  readonly attributes: number
  /** The most of one element, in which each is looked up among the others. */
  readonly attributesOfOne: number
  /** Comments, and texts that follow a text: one for each entity, and for each `<` that begins no tag. */
  readonly fragments: number
}

/** Stops at an element that is deeper than `maxDepth`, because the time of the pass grows with the depth. */
export function measureHtml(html: string, maxDepth: number): HtmlSize {
  let [elements, depth, deepest, nesting] = [0, 0, 0, 0]
  let [attributes, ofThis, attributesOfOne, fragments] = [0, 0, 0, 0]
  let isAfterText = false
  // With the options of linkedom, so that it finds what linkedom finds.
  const options = { decodeEntities: true, lowerCaseAttributeNames: false }
  const parser = new Parser(
    {
      onopentagname() {
        elements++
        deepest = Math.max(deepest, ++depth)
        nesting += depth
        ofThis = 0
        isAfterText = false
        if (depth > maxDepth) parser.pause()
      },
      onattribute() {
        attributes++
        attributesOfOne = Math.max(attributesOfOne, ++ofThis)
      },
      onclosetag() {
        depth--
        isAfterText = false
      },
      ontext() {
        if (isAfterText) fragments++
        isAfterText = true
      },
      oncomment() {
        fragments++
      },
    },
    options,
  )
  parser.write(html)
  return { elements, depth: deepest, nesting, attributes, attributesOfOne, fragments }
}
