import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitText } from '../../../src/channels/text/split-text.ts'
import { parseMarkdown } from '../../../src/channels/text/parse-markdown.ts'

/** The text with each style shown around what it covers, in order of where it begins. */
function shown(markdown: string): string {
  const { text, spans } = parseMarkdown(markdown)
  const marks = spans.flatMap(({ type, offset, length, url, language }, n) => {
    const more = url ?? language
    return [
      { at: offset, n, isEnd: false, say: `<${type}${more ? ` ${more}` : ''}>` },
      { at: offset + length, n, isEnd: true, say: `</${type}>` },
    ]
  })
  marks.sort((a, b) => b.at - a.at || Number(a.isEnd) - Number(b.isEnd) || (a.isEnd ? a.n - b.n : b.n - a.n))
  let out = text
  for (const { at, say } of marks) out = out.slice(0, at) + say + out.slice(at)
  return out
}

describe('markdown becomes text with styles', () => {
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
    ['see https://a.example/_x_*y* now', 'see https://a.example/_x_<italic>y</italic> now'],
    ['# Title #\ntext', '<bold>Title</bold>\ntext'],
    ['- one\n- two\n  1. three\n- [x] done\n- [ ] open', '• one\n• two\n  1. three\n☑ done\n☐ open'],
    ['---', '———'],
    ['> quoted *it*\n> more\nafter', '<quote>quoted <italic>it</italic>\nmore</quote>\nafter'],
    ['> a\n> > b', '<quote>a\nb</quote>'],
    ['```ts\nconst a = *b*\n```\nafter', '<pre ts>const a = *b*</pre>\nafter'],
    ['~~~\n```\n~~~', '<pre>```</pre>'],
    ['```\nnever closed', '<pre>never closed</pre>'],
    ['```ts', '```ts'],
    ['| a | **b** |\n|---|:-:|\n| 1 | 22 |\n\nx', '<pre>a | b\n--|---\n1 | 22</pre>\n\nx'],
    ['a | b, no table', 'a | b, no table'],
    ['**over\ntwo lines**', '<bold>over\ntwo lines</bold>'],
    ['a < b & c > d', 'a < b & c > d'],
    ['', ''],
  ])('%j', (markdown, expected) => expect(shown(markdown)).toBe(expected))

  it('loses nothing that is said, whatever it is', () => {
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

  it.each([
    ['marks that never close', '*a '.repeat(30_000)],
    ['ticks of every length', Array.from({ length: 400 }, (_, n) => '`'.repeat(n)).join(' ')],
    ['brackets', '['.repeat(50_000)],
    ['links without an end', '[a]('.repeat(20_000)],
    ['quotes in quotes', `${'> '.repeat(2_000)}x`],
    ['all marks', '*_~|`[<\\'.repeat(10_000)],
  ])(
    '%s take no more than a moment',
    (_name, source) => {
      expect(parseMarkdown(source).text.length).toBeGreaterThan(0)
    },
    10_000,
  )
})

describe('long texts', () => {
  const words = (count: number) => Array.from({ length: count }, (_, n) => `word${n}`).join(' ')
  const inPieces = (markdown: string, length = 4_000) => {
    const { text, spans } = parseMarkdown(markdown)
    return { text, chunks: splitText(text, spans, { maxChars: length, maxSpans: 100 }) }
  }
  const withoutBlanks = (text: string) => text.replace(/\s+/g, '')

  it('come in pieces that are whole together, and each short enough', () => {
    const { text, chunks } = inPieces(`${words(800)}\n\n${'😀'.repeat(3_000)}\n\n| a |\n|---|\n| b |`)
    expect(chunks.length).toBeGreaterThan(2)
    for (const chunk of chunks) {
      expect(chunk.text.length).toBeLessThanOrEqual(4_000)
      expect(chunk.text.isWellFormed()).toBe(true)
    }
    expect(withoutBlanks(chunks.map((chunk) => chunk.text).join(''))).toBe(withoutBlanks(text))
  })

  it('are cut between paragraphs', () => {
    const { chunks } = inPieces(`${'a'.repeat(60)}\n\n${'b'.repeat(60)}`, 100)
    expect(chunks.map(({ text }) => text)).toEqual(['a'.repeat(60), 'b'.repeat(60)])
  })

  const spaces = ' '.repeat(200_000)
  it.each([`[a](${spaces}x y)`, `|a|\n${spaces}x`, `\` ${'a '.repeat(100_000)}x\``])(
    'come to an end on what is made to take for ever',
    (source) => {
      expect(inPieces(source).text.length).toBeGreaterThan(100)
    },
  )

  it('have a fence around both sides of a cut', () => {
    const code = Array.from({ length: 400 }, (_, n) => `line ${n} of some program`).join('\n')
    const { chunks } = inPieces(`Look:\n\n\`\`\`ts\n${code}\n\`\`\`\ndone`)
    expect(chunks.length).toBeGreaterThan(1)
    for (const { spans, text } of chunks) {
      expect(spans).toHaveLength(1)
      expect(spans[0]).toMatchObject({ type: 'pre', language: 'ts' })
      expect(spans[0]?.length).toBeLessThanOrEqual(text.length)
    }
  })

  it('cut anything, with styles where the words are', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 300 }),
        fc.integer({ min: 5, max: 60 }),
        (source, length) => {
          const { text, chunks } = inPieces(`**${source}** ${source}`, length)
          expect(withoutBlanks(chunks.map((chunk) => chunk.text).join(''))).toBe(withoutBlanks(text))
          for (const chunk of chunks) {
            expect(chunk.text.length).toBeLessThanOrEqual(length)
            for (const span of chunk.spans) expect(span.offset + span.length).toBeLessThanOrEqual(chunk.text.length)
          }
        },
      ),
    )
  })
})
