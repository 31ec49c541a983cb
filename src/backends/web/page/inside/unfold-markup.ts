/**
 * Rewrites markup that converters lose: formulas become their TeX or MathML as one code, lines of code that are elements get
 * their line breaks, and numbers of lines are left out. One pass without a tree, so its time grows with the page alone.
 */

import { Parser } from 'htmlparser2'
import { renderMath } from './math-text.ts'

type TagAttributes = Readonly<Record<string, string>>
type Open = { readonly name: string; readonly classes: string; readonly from: number }

/** The place where the output of a possible code block begins, and the changes when it is one. */
type CodeBlock = {
  readonly at: number
  readonly depth: number
  readonly breaks: number[]
  lines: number
  isOther: boolean
}

/** A table with numbers of lines in one cell and the code in another. */
type OpenMarkupTable = { readonly at: number; readonly depth: number; hasGutter: boolean; hasCode: boolean }

const hasMarkup = /<math\b|katex|math\/tex|<pre\b|class\s*=\s*["'][^"']{0,200}\bline\b/i
const formulaClass = /(?:^|\s)(?:katex|katex-display|mwe-math-element|MathJax|MathJax_Display|MathJax_Preview)(?:\s|$)/
const lineClass = /(?:^|\s)(?:[\w-]{1,40}-)?line(?:\s|$)/
const gutterClass = /(?:^|\s)(?:gutter|linenos?|line-?numbers?|lineno|rouge-gutter|blob-num)(?:\s|$)/
const blockClass =
  /(?:^|\s)(?:highlight|codehilite|syntaxhighlighter|code-?block|prism-code|view-lines|cm-content)(?:\s|$)/
const lineTags = new Set(['div', 'p', 'li', 'tr'])
const blockTags = /<\/?(?:div|p|li|ul|ol)\b[^<>]{0,2000}>/gi
const tableTags = /<\/?(?:table|thead|tbody|tr|td|th|colgroup|col)\b[^<>]{0,2000}>/gi
const maxFormulaChars = 20_000
/** Each is written again when it ends, so deeper ones are left as they are. */
const maxNested = 20

export function unfoldMarkup(html: string): string {
  return hasMarkup.test(html) ? new Unfolding(html).run() : html
}

function classify(name: string, classes: string, type: string): 'formula' | 'gutter' | undefined {
  if (name === 'math' || name === 'mjx-container' || formulaClass.test(classes)) return 'formula'
  if (name === 'script') return type.startsWith('math/tex') ? 'formula' : undefined
  return gutterClass.test(classes) && name !== 'table' && name !== 'pre' ? 'gutter' : undefined
}

/** Drops the white space at the end of a text when a line ends in it. */
function dropLineEnd(text: string): string {
  const end = text.trimEnd()
  return text.includes('\n', end.length) ? end : text
}

class Unfolding {
  readonly #html: string
  readonly #out: string[] = []
  readonly #open: Open[] = []
  readonly #blocks: CodeBlock[] = []
  readonly #tables: OpenMarkupTable[] = []
  #copied = 0
  #preDepth = 0
  #needsBreak = false
  /** The outermost formula or gutter that is open: nothing within it is copied. */
  #skipped: { readonly depth: number; readonly from: number; readonly isFormula: boolean } | undefined

  constructor(html: string) {
    this.#html = html
  }

  run(): string {
    const parser = new Parser(
      {
        onopentag: (name, attributes) => this.#begin(name, attributes, parser.startIndex, parser.endIndex + 1),
        onclosetag: (name) => this.#end(name, parser.startIndex, parser.endIndex + 1),
        ontext: (text) => this.#read(text),
      },
      { decodeEntities: false, lowerCaseAttributeNames: true },
    )
    parser.end(this.#html)
    if (!this.#skipped) this.#copyTo(this.#html.length)
    return this.#out.join('')
  }

  #copyTo(index: number): void {
    if (index > this.#copied) this.#out.push(this.#html.slice(this.#copied, index))
    this.#copied = Math.max(this.#copied, index)
  }

  #begin(name: string, { class: classes = '', type = '' }: TagAttributes, from: number, to: number): void {
    this.#open.push({ name, classes, from })
    if (this.#skipped) return
    const skipped = classify(name, classes, type)
    if (!skipped) return this.#beginCode(name, classes, from, to)
    this.#copyTo(from)
    const table = this.#tables.at(-1)
    if (skipped === 'gutter' && table) table.hasGutter = true
    this.#skipped = { depth: this.#open.length, from, isFormula: skipped === 'formula' }
  }

  #beginCode(name: string, classes: string, from: number, to: number): void {
    if (this.#preDepth > 0) return this.#beginWithinPre(name, classes, from, to)
    const block = this.#blocks.at(-1)
    if (name === 'pre') this.#beginPre(block)
    else if (name === 'table') this.#beginTable(block, from)
    else if (blockClass.test(classes) && this.#blocks.length < maxNested) {
      this.#copyTo(from)
      this.#blocks.push({ at: this.#out.length, depth: this.#open.length, breaks: [], lines: 0, isOther: false })
    } else if (block && lineClass.test(classes)) {
      this.#copyTo(from)
      if (block.lines++ > 0) block.breaks.push(this.#out.push('') - 1)
    }
  }

  #beginPre(block: CodeBlock | undefined): void {
    this.#preDepth++
    this.#needsBreak = false
    if (block) block.isOther = true
    for (const table of this.#tables) table.hasCode = true
  }

  #beginTable(block: CodeBlock | undefined, from: number): void {
    if (block) block.isOther = true
    if (this.#tables.length === maxNested) return
    this.#copyTo(from)
    this.#tables.push({ at: this.#out.length, depth: this.#open.length, hasGutter: false, hasCode: false })
  }

  #beginWithinPre(name: string, classes: string, from: number, to: number): void {
    const isBlock = lineTags.has(name)
    if (name === 'pre') this.#preDepth++
    if (!isBlock && !lineClass.test(classes)) return
    this.#copyTo(from)
    if (this.#needsBreak) this.#out.push('\n')
    this.#needsBreak = false
    if (isBlock) this.#copied = to
  }

  #read(text: string): void {
    if (this.#preDepth > 0 && !this.#skipped && text !== '') this.#needsBreak = !text.endsWith('\n')
  }

  #end(name: string, from: number, to: number): void {
    const closed = this.#open.pop()
    const depth = this.#open.length + 1
    if (this.#skipped) {
      if (depth === this.#skipped.depth) this.#endSkipped(to)
      return
    }
    if (name === 'pre') this.#preDepth = Math.max(0, this.#preDepth - 1)
    if (this.#preDepth > 0) return this.#endWithinPre(name, closed?.classes ?? '', from, to)
    if (this.#blocks.at(-1)?.depth === depth) this.#endBlock(from, to)
    if (this.#tables.at(-1)?.depth === depth) this.#endTable(to)
  }

  #endWithinPre(name: string, classes: string, from: number, to: number): void {
    const isBlock = lineTags.has(name)
    if (!isBlock && !lineClass.test(classes)) return
    this.#needsBreak = true
    if (!isBlock) return
    this.#copyTo(from)
    this.#copied = to
  }

  #endSkipped(to: number): void {
    const { from = 0, isFormula } = this.#skipped ?? {}
    this.#skipped = undefined
    this.#copied = to
    if (!isFormula) return
    const source = this.#html.slice(from, to)
    const formula = source.length > maxFormulaChars ? '' : renderMath(source)
    if (formula !== '') this.#out.push(`<code>${formula}</code>`)
  }

  /** Lines that are elements are code when nothing else in the block is. */
  #endBlock(from: number, to: number): void {
    const block = this.#blocks.pop()
    this.#copyTo(from)
    if (!block || block.isOther || block.lines < 2) return
    for (const at of block.breaks) {
      this.#out[at] = '\n'
      const before = this.#out[at - 1]
      if (before !== undefined) this.#out[at - 1] = dropLineEnd(before)
    }
    const outer = this.#blocks.at(-1)
    if (outer) outer.isOther = true
    const code = this.#out.splice(block.at).join('')
    this.#out.push(
      `<pre>${code
        .replace(/^<[^<>]{0,2000}>/, '')
        .replaceAll(blockTags, '')
        .trim()}</pre>`,
    )
    this.#copied = to
  }

  /** Code with its numbers of lines is no table. */
  #endTable(to: number): void {
    const table = this.#tables.pop()
    this.#copyTo(to)
    if (!table?.hasGutter || !table.hasCode) return
    this.#out.push(this.#out.splice(table.at).join('').replaceAll(tableTags, ''))
  }
}
