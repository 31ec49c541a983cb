/** Reads a text that grows. Closed blocks are read once and keep their identity, so that they are drawn once. */

import { type Block, lex } from './lex.ts'
import { outline } from './outline.ts'

export type Reading = {
  /** The length of the text in `closed`. */
  readonly done: number
  readonly closed: readonly Block[]
  readonly open: readonly Block[]
  /** The headings that are open at the end of `closed` (outline.ts). */
  readonly depths: readonly number[]
}

export const emptyReading: Reading = { done: 0, closed: [], open: [], depths: [] }

/** `text` begins with the text of `before`. The last block stays open: the next piece may continue it. */
export function readMore(before: Reading, text: string): Reading {
  const source = text.replaceAll('\r\n', '\n')
  if (source.length < before.done) return readMore(emptyReading, source)
  const blocks = lex(source.slice(before.done))
  const last = blocks.findLastIndex(({ nodes }) => nodes.length > 0)
  const closing = blocks.slice(0, Math.max(0, last))
  const length = closing.reduce((sum, { raw }) => sum + raw.length, 0)
  const isExact = source.startsWith(closing.map(({ raw }) => raw).join(''), before.done)
  // The lexer replaces some characters, as tabs: then everything stays open.
  if (!isExact) return { ...before, open: outline(blocks, before.depths).blocks }
  const closed = outline(closing, before.depths)
  return {
    done: before.done + length,
    closed: [...before.closed, ...closed.blocks],
    open: outline(blocks.slice(Math.max(0, last)), closed.depths).blocks,
    depths: closed.depths,
  }
}
