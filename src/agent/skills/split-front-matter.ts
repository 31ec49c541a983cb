/** Splits a SKILL.md into its YAML front matter and its instructions. Apart from the parser, which is loaded on first use. */

/** Splits at the lines `---`. Undefined without front matter. */
export function splitFrontMatter(content: string): { readonly head: string; readonly body: string } | undefined {
  const plain = content.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  if (!plain.startsWith('---\n')) return undefined
  const end = plain.indexOf('\n---', 3)
  if (end < 0) return undefined
  const lineEnd = plain.indexOf('\n', end + 1)
  const closing = lineEnd < 0 ? plain.slice(end + 1) : plain.slice(end + 1, lineEnd)
  if (closing.trimEnd() !== '---') return undefined
  return { head: plain.slice(4, end + 1), body: lineEnd < 0 ? '' : plain.slice(lineEnd + 1) }
}
