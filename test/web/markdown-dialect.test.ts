/** Tests the forms of Markdown that models write: lists, math, folds, footnotes, harmless elements and sources. */

import { array, assert, constantFrom, integer, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { extensionFor } from '../../web/markdown/languages.ts'
import { lex, type Node } from '../../web/markdown/lex.ts'
import { type MathNode, readMath } from '../../web/markdown/math-tree.ts'
import { collectNamed } from '../../web/markdown/sources.ts'
import { emptyReading, readMore } from '../../web/markdown/stream.ts'

const show = (list: readonly Node[]): string => list.map(showOne).join('')

function showOne(node: Node): string {
  switch (node.tag) {
    case 'text':
      return node.text
    case 'math':
      return node.isBlock ? `[[${node.text}]]` : `[${node.text}]`
    case 'element':
      return `<${node.name}>${show(node.children)}</${node.name}>`
    case 'fold':
      return `<fold${node.isOpen ? ' open' : ''}|${show(node.summary)}|${show(node.children)}>`
    case 'note':
      return `<note ${node.label}>${show(node.children)}</note>`
    case 'noteRef':
      return `^${node.label}^`
    case 'source':
      return `<src ${node.text}${node.title && `|${node.title}`}${node.link ? ` ${node.link.href}` : ''}${node.link?.isSuspicious ? ' !' : ''}>`
    case 'list':
      return `<list ${node.start ?? '*'}${node.isLoose ? ' loose' : ''}>${node.items.map(({ children }) => `<li>${show(children)}</li>`).join('')}</list>`
    case 'table':
      return [node.head, ...node.rows].map((row) => row.map(({ children }) => show(children)).join('|')).join('/')
    case 'link':
      return `<a ${node.link.href}>${show(node.children)}</a>`
    case 'pre':
    case 'code':
      return `<${node.tag}>${node.text}</${node.tag}>`
    default:
      return 'children' in node ? `<${node.tag}>${show(node.children)}</${node.tag}>` : `<${node.tag}>`
  }
}
const drawn = (text: string): string => show(lex(text).flatMap(({ nodes }) => nodes))

describe('Markdown as models write it', () => {
  it.each([
    // Lists
    ['- a\n- b', '<list *><li>a</li><li>b</li></list>'],
    ['- a\n\n- b', '<list * loose><li><p>a</p></li><li><p>b</p></li></list>'],
    ['- a\n\n  second\n- b', '<list * loose><li><p>a</p><p>second</p></li><li><p>b</p></li></list>'],
    ['1. a\n\n2. b', '<list 1 loose><li><p>a</p></li><li><p>b</p></li></list>'],
    ['- a\n  - b\n  - c', '<list *><li>a<list *><li>b</li><li>c</li></list></li></list>'],
    ['- a\n  ```\n  x\n  ```', '<list *><li>a<pre>x</pre></li></list>'],
    ['- $a$\n- \\(b\\)', '<list *><li>[a]</li><li>[b]</li></list>'],
    // Math
    ['\\(x^2\\)', '<p>[x^2]</p>'],
    ['is \\(a_1\\) or \\(b_2\\)?', '<p>is [a_1] or [b_2]?</p>'],
    ['\\[x^2\\]', '[[x^2]]'],
    ['\\[\nx^2\n\\]', '[[x^2]]'],
    ['$$x^2$$', '[[x^2]]'],
    ['$$\na = b\n+ c\n$$', '[[a = b\n+ c]]'],
    ['so:\n$$x$$\nthen', '<p>so:</p>[[x]]<p>then</p>'],
    ['so \\[x\\] then', '<p>so [[x]] then</p>'],
    ['a $$x$$ b', '<p>a [[x]] b</p>'],
    ['$x$ and $y_{1}$', '<p>[x] and [y_{1}]</p>'],
    ['**$x$**', '<p><strong>[x]</strong></p>'],
    ['| a |\n|-|\n| $x$ |', 'a/[x]'],
    ['> \\(q\\)', '<quote><p>[q]</p></quote>'],
    // Money and variables are no math.
    ['costs $5 and $6', '<p>costs $5 and $6</p>'],
    ['from $5-$6', '<p>from $5-$6</p>'],
    ['$HOME/$USER', '<p>$HOME/$USER</p>'],
    ['US$5 or A$6', '<p>US$5 or A$6</p>'],
    ['$ a $', '<p>$ a $</p>'],
    ['\\$5 and 6$', '<p>$5 and 6$</p>'],
    ['`$x$`', '<p><code>$x$</code></p>'],
    ['```\n$$x$$\n```', '<pre>$$x$$</pre>'],
    ['$$\na\n\nb\n$$', '<p>$$\na</p><p>b</p><p>$$</p>'],
    ['\\( \\)', '<p>( )</p>'],
    ['$$$$', '<p>$$$$</p>'],
    // Folds
    ['<details>\n<summary>More</summary>\n\nText\n\n</details>', '<fold|More|<p>Text</p>>'],
    ['<details open>\n<summary>*More*</summary>\nText\n</details>', '<fold open|<em>More</em>|<p>Text</p>>'],
    ['<details>Text</details>', '<fold||<p>Text</p>>'],
    ['<details>\n\n- a\n- b\n\n</details>\n\nafter', '<fold||<list *><li>a</li><li>b</li></list>><p>after</p>'],
    ['<details>\n\n<details>\nb\n</details>\n\n</details>', '<fold||<fold||<p>b</p>>>'],
    ['<details>\n\n```\ncode\n```\n\n</details>', '<fold||<pre>code</pre>>'],
    ['<details>\nopen', '<fold||<p>open</p>>'],
    ['<details ontoggle=alert(1)>x</details>', '<details ontoggle=alert(1)>x</details>'],
    ['</details>', '</details>'],
    // Footnotes
    ['a[^1]\n\n[^1]: Note', '<p>a^1^</p><note 1><p>Note</p></note>'],
    ['a[^b]\n\n[^b]: *Note*\nmore', '<p>a^b^</p><note b><p><em>Note</em>\nmore</p></note>'],
    ['[^1]: One\n[^2]: Two', '<note 1><p>One</p></note><note 2><p>Two</p></note>'],
    ['[^1]: One\n\n  More\n\nText', '<note 1><p>One</p><p>More</p></note><p>Text</p>'],
    ['`[^a-z]`', '<p><code>[^a-z]</code></p>'],
    ['[^ a]', '<p>[^ a]</p>'],
    // Elements
    ['a<br>b', '<p>a<br>b</p>'],
    ['a<br/>b<BR />c', '<p>a<br>b<br>c</p>'],
    ['H<sub>2</sub>O', '<p>H<sub>2</sub>O</p>'],
    ['x<sup>*2*</sup>', '<p>x<sup><em>2</em></sup></p>'],
    ['<kbd>Ctrl</kbd>+<kbd>C</kbd>', '<p><kbd>Ctrl</kbd>+<kbd>C</kbd></p>'],
    ['<mark>a</mark> <u>b</u> <ins>c</ins>', '<p><mark>a</mark> <u>b</u> <ins>c</ins></p>'],
    ['<b>a <i>b</i></b>', '<p><b>a <i>b</i></b></p>'],
    ['<sub>\nx\n</sub>', '<p><sub>\nx\n</sub></p>'],
    ['<br>', '<br>'],
    ['| a |\n|-|\n| b<br>c |', 'a/b<br>c'],
    ['a <b>b', '<p>a <b>b</p>'],
    ['a</b> b', '<p>a</b> b</p>'],
    ['<b>a<i>b</b>c</i>', '<p><b>a<i>b</b>c</i></p>'],
    ['<kbd onclick=x>a</kbd>', '<p><kbd onclick=x>a</kbd></p>'],
    ['<sub style="x">a</sub>', '<p><sub style="x">a</sub></p>'],
    ['<script>x</script>', '<script>x</script>'],
    ['<img src=x>', '<img src=x>'],
    ['<a href="https://a.example">x</a>', '<p><a href="https://a.example">x</a></p>'],
    ['<hr>', '<hr>'],
    // Sources
    ['[Guide](https://a.example/x "Surface")', '<p><src Guide|Surface https://a.example/x></p>'],
    ['[1](https://www.a.example/x)', '<p><src a.example https://www.a.example/x></p>'],
    ['[[2]](https://a.example/x)', '<p><src a.example https://a.example/x></p>'],
    ['[words](https://a.example/x)', '<p><a https://a.example/x>words</a></p>'],
    ['【1†source】', '<p><src 1></p>'],
    ['【4:0†report.pdf】', '<p><src report.pdf></p>'],
    ['【https://a.example/x】', '<p><src a.example https://a.example/x></p>'],
    ['【javascript:alert(1)】', '<p><src javascript:alert(1)></p>'],
    ['[1](javascript:alert(1))', '<p>[1](javascript:alert(1))</p>'],
    ['[x](https://a.example "bank.example")', '<p><src x|bank.example https://a.example/ !></p>'],
    ['a 【 b', '<p>a 【 b</p>'],
    // Lines and directions
    ['one\ntwo', '<p>one\ntwo</p>'],
    ['one  \ntwo', '<p>one<br>two</p>'],
    ['---', '<hr>'],
  ])('%j is drawn as %j', (text, expected) => expect(drawn(text)).toBe(expected))

  it('lists each source once, with the title that one of its links has, and the labels of notes', () => {
    const text =
      '[1](https://a.example/x) [Guide](https://a.example/x "Surface") [2](https://b.example)\n\n[^n]: x [3](https://c.example)'
    const { sources, notes } = collectNamed(lex(text))
    expect(sources.map(({ link, title }) => [link.href, title])).toEqual([
      ['https://a.example/x', 'Surface'],
      ['https://b.example/', ''],
      ['https://c.example/', ''],
    ])
    expect(notes).toEqual(['n'])
  })

  it('is the same piece by piece as at once', () => {
    const parts = [
      'a',
      '$',
      '$$',
      '\\(',
      '\\)',
      '\\[',
      '\\]',
      '\n',
      '\n\n',
      '<details>',
      '</details>',
      '<sub>',
      '</sub>',
    ]
    const more = [
      '<br>',
      '[^1]',
      '[^1]: ',
      '【1】',
      '- ',
      '  ',
      '+ b',
      '> ',
      '|',
      '**',
      '`',
      '```',
      '<summary>',
      '</summary>',
    ]
    const texts = array(constantFrom(...parts, ...more), { maxLength: 30 }).map((all) => all.join(''))
    assert(
      property(texts, integer({ min: 1, max: 7 }), (text, size) => {
        let reading = emptyReading
        for (let end = size; end < text.length + size; end += size) reading = readMore(reading, text.slice(0, end))
        const nodesOf = ({ closed, open }: typeof reading) => show([...closed, ...open].flatMap(({ nodes }) => nodes))
        expect(nodesOf(reading)).toBe(nodesOf(readMore(emptyReading, text)))
      }),
      { numRuns: 400 },
    )
  })

  itInTurn('reads many tags without an end quickly', () => {
    const began = performance.now()
    for (const tag of ['<b>', '</b>', '<sub>', '<details>\n', '$', '\\(', '[^1]', '【']) lex(tag.repeat(5_000))
    expect(performance.now() - began).toBeLessThan(10_000)
  })
})

describe('math', () => {
  const listAll = (node: MathNode | string | undefined): readonly MathNode[] =>
    node === undefined || typeof node === 'string' ? [] : [node, ...node.children.flatMap(listAll)]

  it.each([
    'x^2',
    '\\frac{a}{b}',
    '\\sqrt[3]{x}',
    '\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}',
    '\\sum_{i=1}^n i',
  ])('%s is MathML', (tex) => expect(listAll(readMath(tex, true)).map(({ type }) => type)).toContain('math'))

  it.each(['\\frac{a}', '\\unknowncommand{', '\\def\\a{\\a\\a}\\a'])('%s stays as it was written', (tex) =>
    expect(readMath(tex, true)).toBeUndefined(),
  )

  it.each([
    '\\href{javascript:alert(1)}{x}',
    '\\url{https://evil.example}',
    '\\includegraphics{https://evil.example/a.png}',
    '\\class{x" onclick="y}{z}',
    '\\style{background:url(https://evil.example)}{z}',
    '\\data{a=b}{z}',
    '\\color{red;background:url(//evil.example)}x',
    '\\text{<img src=x onerror=alert(1)>}',
  ])('%s names no address and runs nothing', (tex) => {
    for (const { type, props } of listAll(readMath(tex, true))) {
      expect(String(type)).not.toMatch(/^(?:a|img|script|maction|annotation)/)
      for (const [name, value] of Object.entries(props)) {
        expect(name).not.toMatch(/^(?:on|href|src|xlink|data)/i)
        expect(JSON.stringify(value)).not.toMatch(/url|javascript|evil/)
      }
    }
  })
})

it.each([
  ['js', 'js'],
  ['TypeScript', 'ts'],
  ['svg', 'svg'],
  ['bash', 'sh'],
  ['mermaid', 'mmd'],
  ['kotlin', 'kotlin'],
  ['../../x', 'txt'],
  ['', 'txt'],
])('code in %j is saved as .%s', (lang, extension) => expect(extensionFor(lang)).toBe(extension))
