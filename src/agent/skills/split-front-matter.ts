/** Splits a SKILL.md into its YAML front matter and its instructions. Apart from the parser, which is loaded on first use. */

/** Splits at the lines `---`, which may end with blanks; `...` ends it too, as in YAML. Undefined without front matter. */
export function splitFrontMatter(content: string): { readonly head: string; readonly body: string } | undefined {
  const plain = content
    .replace(/^\uFEFF/, '')
    .replaceAll(/\r\n?/g, '\n')
    .replace(/^\n+/, '')
  const start = /^---[ \t]*\n/.exec(plain)?.[0].length
  if (start === undefined) return undefined
  const rest = plain.slice(start)
  const closing = /^(?:---|\.{3})[ \t]*$/m.exec(rest)
  if (!closing) return undefined
  return { head: rest.slice(0, closing.index), body: rest.slice(closing.index + closing[0].length).replace(/^\n/, '') }
}
