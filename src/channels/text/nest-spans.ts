/** Arranges the styled spans of a text as a tree, for dialects that write styles as nested marks or tags. */

import type { TextSpan } from '#agent/core/delivery.ts'

export type SpanNode = {
  readonly span: TextSpan
  readonly from: number
  readonly to: number
  readonly children: SpanNode[]
}

/** Returns the spans between two positions, outermost first. A span that crosses the end of another one ends there. */
export function nestSpans(spans: readonly TextSpan[], from: number, to: number): readonly SpanNode[] {
  const roots: SpanNode[] = []
  const open: SpanNode[] = []
  for (const span of spans.toSorted((one, other) => one.offset - other.offset || other.length - one.length)) {
    const start = Math.max(span.offset, from)
    while (open.length && (open.at(-1)?.to ?? 0) <= start) open.pop()
    const parent = open.at(-1)
    const end = Math.min(span.offset + span.length, parent?.to ?? to, to)
    if (end <= start) continue
    const node: SpanNode = { span, from: start, to: end, children: [] }
    ;(parent?.children ?? roots).push(node)
    open.push(node)
  }
  return roots
}
