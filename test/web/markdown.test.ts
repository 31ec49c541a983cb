/** Tests how Markdown of a model becomes nodes: what is drawn, and that nothing of it is HTML or requests anything. */

import { describe, expect, it } from 'vitest'
import { highlight } from '../../web/markdown/highlight.ts'
import { findLanguage } from '../../web/markdown/languages.ts'
import { lex, type Node } from '../../web/markdown/lex.ts'
import { checkLink, showBidi } from '../../web/markdown/links.ts'
import { emptyReading, readMore } from '../../web/markdown/stream.ts'

const nodes = (text: string): readonly Node[] => lex(text).flatMap((block) => block.nodes)

/** The nodes as a short text: tags with their contents. */
function show(list: readonly Node[]): string {
  return list.map(showOne).join('')
}

function showOne(node: Node): string {
  if (node.tag === 'text') return node.text
  if (node.tag === 'code' || node.tag === 'pre') return `<${node.tag}>${node.text}</${node.tag}>`
  if (node.tag === 'link') return `<a ${node.link.href}${node.link.isSuspicious ? ' !' : ''}>${show(node.children)}</a>`
  if (node.tag === 'image') return `<image ${node.data ? 'data' : node.host}>${node.text}</image>`
  if (node.tag === 'heading') return `<h${node.depth}>${show(node.children)}</h${node.depth}>`
  if (node.tag === 'list')
    return `<list ${node.start ?? '*'}>${node.items.map(({ checked, children }) => `<li${checked === undefined ? '' : ` ${checked}`}>${show(children)}</li>`).join('')}</list>`
  if (node.tag === 'table')
    return `<table>${[node.head, ...node.rows].map((row) => `<tr>${row.map(({ children }) => `<td>${show(children)}</td>`).join('')}</tr>`).join('')}</table>`
  return 'children' in node ? `<${node.tag}>${show(node.children)}</${node.tag}>` : `<${node.tag}>`
}

describe('Markdown', () => {
  it.each([
    ['# Title', '<h1>Title</h1>'],
    ['a **b** *c* ~~d~~ `e`', '<p>a <strong>b</strong> <em>c</em> <del>d</del> <code>e</code></p>'],
    ['- one\n- two', '<list *><li>one</li><li>two</li></list>'],
    ['3. one\n4. two', '<list 3><li>one</li><li>two</li></list>'],
    ['- [x] done\n- [ ] open', '<list *><li true>done</li><li false>open</li></list>'],
    ['```js\nlet a\n```', '<pre>let a</pre>'],
    ['> said', '<quote><p>said</p></quote>'],
    ['|a|b|\n|-|-|\n|1|2|', '<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>'],
    ['[text](https://example.com/x)', '<p><a https://example.com/x>text</a></p>'],
    ['https://example.com', '<p><a https://example.com/>https://example.com</a></p>'],
    ['a &amp; b &#x41; &lt;i&gt;', '<p>a & b A <i></p>'],
  ])('%j is drawn as %j', (text, drawn) => {
    expect(show(nodes(text))).toBe(drawn)
  })

  it.each([
    ['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
    ['<script>alert(1)</script>', '<script>alert(1)</script>'],
    ['a <b onclick=x>b</b>', '<p>a <b onclick=x>b</b></p>'],
    ['[x](javascript:alert(1))', '<p>[x](javascript:alert(1))</p>'],
    ['[x](JaVaScRiPt&colon;alert(1))', '<p>[x](JaVaScRiPt&colon;alert(1))</p>'],
    ['[x](&#106;avascript:alert(1))', '<p>[x](&#106;avascript:alert(1))</p>'],
    ['[x](data:text/html,<b>)', '<p>[x](data:text/html,<b>)</p>'],
    ['[x](vbscript:x)', '<p>[x](vbscript:x)</p>'],
    ['![a](https://evil.example/p.png?secret)', '<p><image evil.example>a</image></p>'],
    ['![a](data:image/svg+xml;base64,AAAA)', '<p><image >a</image></p>'],
    ['![a](data:image/png;base64,AAAA)', '<p><image data>a</image></p>'],
    ['[bank.example](https://evil.example)', '<p><a https://evil.example/ !>bank.example</a></p>'],
  ])('the attack %j is drawn as %j', (text, drawn) => {
    expect(show(nodes(text))).toBe(drawn)
  })

  it('survives nesting that overflows a stack', () => {
    for (const text of ['> '.repeat(5_000), `${'['.repeat(5_000)}a`, `${'- '.repeat(2_000)}a`])
      expect(
        lex(text)
          .map(({ raw }) => raw)
          .join(''),
      ).toBe(text)
  })
})

describe('a growing text', () => {
  const text =
    'One *two*\n\n- a\n- b\n  ```\n  x\n  ```\n\n| a |\n|---|\n| 1 |\n\n```js\ncode\n\nmore\n```\n\n> quote\n\nEnd [x](https://a.example/)'

  it.each([1, 3, 7, 40])('in pieces of %i characters is the same as at once', (size) => {
    let reading = emptyReading
    for (let end = size; end < text.length + size; end += size) reading = readMore(reading, text.slice(0, end))
    const drawn = [...reading.closed, ...reading.open].flatMap((block) => block.nodes)
    expect(show(drawn)).toBe(show(nodes(text)))
  })

  it('keeps closed blocks, and reads only what is open again', () => {
    const first = readMore(emptyReading, 'One\n\nTwo')
    const second = readMore(first, 'One\n\nTwo and more')
    expect(second.closed[0]).toBe(first.closed[0])
    expect(second.done).toBe(first.done)
    expect(first.done).toBeGreaterThan(0)
  })

  it('begins again when the text was replaced by a shorter one', () => {
    const before = readMore(emptyReading, 'One\n\nTwo\n\nThree')
    expect(show(readMore(before, 'New').open.flatMap((block) => block.nodes))).toBe('<p>New</p>')
  })
})

describe('headings', () => {
  /** Depths become levels of the outline. */
  it.each([
    ['## a\n\n### b\n\n## c', [2, 3, 2]],
    ['#### a\n\n# b\n\n### c\n\n#### d', [2, 2, 3, 4]],
    ['# a\n\n###### b\n\n### c', [2, 3, 3]],
    ['> # quoted\n\n- # listed\n\n# a', [2]],
  ])('%j have no gap between their levels, at once and piece by piece', (text, levels) => {
    const levelsOf = (list: readonly Node[]) => list.flatMap((node) => (node.tag === 'heading' ? [node.level] : []))
    let reading = readMore(emptyReading, text)
    expect(levelsOf([...reading.closed, ...reading.open].flatMap((block) => block.nodes))).toEqual(levels)
    reading = emptyReading
    for (let length = 1; length <= text.length; length += 3) reading = readMore(reading, text.slice(0, length))
    reading = readMore(reading, text)
    expect(levelsOf([...reading.closed, ...reading.open].flatMap((block) => block.nodes))).toEqual(levels)
  })
})

describe('code', () => {
  const code = `# one\nconst a = {"b": 'c', d: 1} // e\n\n<p class="x">&amp;</p> --f\n/* g */ def h(): return None\n`

  it.each([['ts'], ['js'], ['py'], ['json'], ['bash'], ['html'], ['css'], ['go'], ['rust'], ['sql'], ['yml']])(
    'in %s keeps every character',
    (name) => {
      const language = findLanguage(name)
      if (!language) throw new Error(name)
      expect(
        highlight(code, language)
          .map(({ text }) => text)
          .join(''),
      ).toBe(code)
    },
  )

  it('has kinds for what has a colour', () => {
    expect(highlight('const a = "b" // c', 'typescript')).toEqual([
      { kind: 'keyword', text: 'const' },
      { kind: '', text: ' a = ' },
      { kind: 'string', text: '"b"' },
      { kind: '', text: ' ' },
      { kind: 'comment', text: '// c' },
    ])
    expect([findLanguage('TSX'), findLanguage('brainfuck'), findLanguage('')]).toEqual([
      'typescript',
      undefined,
      undefined,
    ])
  })
})

describe('links', () => {
  it.each([
    ['https://example.com/a', 'example.com', false],
    ['https://www.example.com/', 'see example.com', false],
    ['https://example.com/', 'words', false],
    ['https://evil.example/', 'example.com', true],
    [`https://example.com/?q=${'x'.repeat(200)}`, 'words', true],
    ['https://user@example.com/', 'words', true],
    ['mailto:a@example.com', 'words', false],
  ])('%j under %j asks before it is opened: %j', (href, text, isSuspicious) => {
    expect(checkLink(href, text)?.isSuspicious).toBe(isSuspicious)
  })

  it.each(['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '/api/settings', 'blob:https://a/b', ''])(
    '%j is none',
    (href) => {
      expect(checkLink(href, '')).toBeUndefined()
    },
  )

  it('shows characters that turn the order of text around', () => {
    expect(showBidi('a\u202Egpj.exe')).toBe('a⟨U+202E⟩gpj.exe')
  })
})
