import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { parseMarkdown } from '#channels/text/parse-markdown.ts'

/** Writes the parsed text with a tag around each styled span. */
function tagged(markdown: string): string {
  const { text, spans } = parseMarkdown(markdown)
  const tags = spans.flatMap(({ type, offset, length, url, language }, n) => {
    const more = url ?? language
    return [
      { at: offset, n, isEnd: false, tag: `<${type}${more ? ` ${more}` : ''}>` },
      { at: offset + length, n, isEnd: true, tag: `</${type}>` },
    ]
  })
  tags.sort((a, b) => b.at - a.at || Number(a.isEnd) - Number(b.isEnd) || (a.isEnd ? a.n - b.n : b.n - a.n))
  let out = text
  for (const { at, tag } of tags) out = out.slice(0, at) + tag + out.slice(at)
  return out
}

const longUrl = `https://a.example/f?token=${'a'.repeat(1_500)}&sig=_b_&c=*d*&e=\\_f`

describe('parseMarkdown', () => {
  it.each([
    ['plain words', 'plain words'],
    [
      '**bold** and *it* and _it_ and __bold__',
      '<bold>bold</bold> and <italic>it</italic> and <italic>it</italic> and <bold>bold</bold>',
    ],
    ['***both***', '<bold><italic>both</italic></bold>'],
    ['**bold *and it***', '<bold>bold <italic>and it</italic></bold>'],
    ['*it **and bold***', '<italic>it <bold>and bold</bold></italic>'],
    ['~~gone~~ ||hidden||', '<strikethrough>gone</strikethrough> <spoiler>hidden</spoiler>'],
    ['2 * 3 * 4', '2 * 3 * 4'],
    ['snake_case_name and __init__.py', 'snake_case_name and <bold>init</bold>.py'],
    ['a*b*c', 'a<italic>b</italic>c'],
    ['**not closed', '**not closed'],
    ['* and ** and ***', '• and ** and ***'],
    ['\\*literal\\* \\_too\\_', '*literal* _too_'],
    ['`a * b` and ``x ` y``', '<code>a * b</code> and <code>x ` y</code>'],
    ['an `open tick', 'an `open tick'],
    ['[site](https://a.example/x_y_z "t")', '<link https://a.example/x_y_z>site</link>'],
    ['[**b**](https://a.example)', '<link https://a.example><bold>b</bold></link>'],
    ['[wiki](https://a.example/a_(b))', '<link https://a.example/a_(b)>wiki</link>'],
    ['[file](./a.txt)', 'file (./a.txt)'],
    ['[x](javascript:alert(1))', 'x (javascript:alert(1))'],
    ['![alt](https://a.example/p.png)', '<link https://a.example/p.png>alt</link>'],
    ['[not] (a link)', '[not] (a link)'],
    ['<https://a.example/_x_>', 'https://a.example/_x_'],
    ['see https://a.example/_x_*y* now', 'see https://a.example/_x_*y* now'],
    [
      '**https://a.example/__b__c**, _d https://a.example/_e_/f_',
      '<bold>https://a.example/__b__c</bold>, <italic>d https://a.example/_e_/f</italic>',
    ],
    ['**https://a.example**を', '<bold>https://a.example</bold>を'],
    ['(https://a.example/b_(c)_d_[]=_e_)', '(https://a.example/b_(c)_d_[]=_e_)'],
    [`see ${longUrl} now`, `see ${longUrl} now`],
    [`<${longUrl}> *a*`, `${longUrl} <italic>a</italic>`],
    [`[*a*](${longUrl} "t")`, `<link ${longUrl}><italic>a</italic></link>`],
    [`[a](${longUrl}${'b'.repeat(4_000)})`, `[a](${longUrl}${'b'.repeat(4_000)})`],
    ['# Title #\ntext', '<bold>Title</bold>\ntext'],
    ['- one\n- two\n  1. three\n- [x] done\n- [ ] open', '• one\n• two\n  1. three\n☑ done\n☐ open'],
    ['---', '———'],
    ['> quoted *it*\n> more\nafter', '<quote>quoted <italic>it</italic>\nmore</quote>\nafter'],
    ['> a\n> > b', '<quote>a\nb</quote>'],
    ['```ts\nconst a = *b*\n```\nafter', '<pre ts>const a = *b*</pre>\nafter'],
    ['~~~\n```\n~~~', '<pre>```</pre>'],
    ['```\nnever closed', '<pre>never closed</pre>'],
    ['```ts', '```ts'],
    [
      '- a\n    ```py\n    def __init__():\n\n        a*b*c\n    ```\n- b',
      '• a\n<pre py>def __init__():\n\n    a*b*c</pre>\n• b',
    ],
    ['- a\n\t```\n\tx_y_z\n\t```\nb', '• a\n<pre>x_y_z</pre>\nb'],
    ['    ```\n  less\n    ```', '<pre>less</pre>'],
    ['> - a\n>     ```\n>     *x*\n>     ```', '<quote>• a\n<pre>*x*</pre></quote>'],
    ['```md\n- a\n    ```\n    x\n    ```\n```\nb', '<pre md>- a\n    ```\n    x\n    ```</pre>\nb'],
    ['1. ```js\n   *a*\n\n   b\n   ```\n2. *c*', '1.\n<pre js>*a*\n\nb</pre>\n2. <italic>c</italic>'],
    ['- ```js', '• ```js'],
    ['| a | **b** |\n|---|:-:|\n| 1 | 22 |\n\nx', '<pre>a | b\n--|---\n1 | 22</pre>\n\nx'],
    ['| a |\n|---|\n| [b](https://c.example) |', `<pre>a\n${'-'.repeat(21)}\nb (https://c.example)</pre>`],
    ['a | b, no table', 'a | b, no table'],
    [
      `| name | note |\n|---|---|\n| **a** | ${'w'.repeat(41)} |\n| b | [x](https://a.example) |\n\nx`,
      `<bold>name</bold>: <bold>a</bold>\n<bold>note</bold>: ${'w'.repeat(41)}\n\n<bold>name</bold>: b\n<bold>note</bold>: <link https://a.example>x</link>\n\nx`,
    ],
    [
      `| name | |\n|---|---|\n| a | ${'w'.repeat(41)} | more \\| x |\n|  | c |`,
      `<bold>name</bold>: a\n${'w'.repeat(41)}\nmore | x\n\nc`,
    ],
    [
      `| a | b |\n|---|---|\n| ${'w'.repeat(41)} | |\n| c | |`,
      `<bold>a</bold>: ${'w'.repeat(41)}\n<bold>b</bold>\n\n<bold>a</bold>: c`,
    ],
    [`| ${'w'.repeat(41)} | b |\n|---|---|`, `<bold>${'w'.repeat(41)}</bold>\n<bold>b</bold>`],
    ['**over\ntwo lines**', '<bold>over\ntwo lines</bold>'],
    ['a < b & c > d', 'a < b & c > d'],
    ['', ''],
  ])('parses %j', (markdown, expected) => expect(tagged(markdown)).toBe(expected))

  it('does not fill a table with blanks when one of its cells is long', () => {
    const source = `| a | b |\n|---|---|\n${'| 1 | 2 |\n'.repeat(40)}| 3 | ${'word '.repeat(80)}|`
    expect(parseMarkdown(source).text.length).toBeLessThan(source.length * 1.5)
  })

  it('keeps all words, and makes only spans that cover text', () => {
    const piece = fc.constantFrom(
      '*',
      '**',
      '_',
      '__',
      '~~',
      '`',
      '[',
      '](',
      ')',
      '|',
      '||',
      '\n',
      '# ',
      '- ',
      '> ',
      '\\',
      '<',
      '>',
      'word',
      ' ',
      '😀',
      'ä',
      '\n\n',
      '---',
      '|-|',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const source = pieces.join('')
        const { text, spans } = parseMarkdown(source)
        for (const char of ['word', '😀', 'ä']) expect(text.split(char).length).toBe(source.split(char).length)
        for (const { offset, length } of spans) {
          expect(length).toBeGreaterThan(0)
          expect(offset + length).toBeLessThanOrEqual(text.length)
        }
      }),
    )
  })

  itInTurn.each([
    ['marks that never close', '*a '.repeat(30_000)],
    ['ticks of every length', Array.from({ length: 400 }, (_, n) => '`'.repeat(n)).join(' ')],
    ['brackets', '['.repeat(50_000)],
    ['links without an end', '[a]('.repeat(50_000)],
    ['links with long addresses', `[a](${'b'.repeat(50)}`.repeat(4_000)],
    ['addresses with brackets', 'https://a.example/([('.repeat(10_000)],
    ['quotes in quotes', `${'> '.repeat(50_000)}x`],
    ['a fence that is none', `\`\`\`${'a'.repeat(200_000)}\``],
    ['indented fences', '\n    ```'.repeat(20_000)],
    ['all marks', '*_~|`[<\\'.repeat(10_000)],
  ])(
    'parses hostile input in linear time: %s',
    (_name, source) => {
      expect(parseMarkdown(source).text.length).toBeGreaterThan(0)
    },
    10_000,
  )
})
