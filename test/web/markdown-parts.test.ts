/** Tests the parts of Markdown: entities, names of languages, hosts of links, the outline, and any text piece by piece. */

import { array, assert, constantFrom, integer, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeEntities } from '../../web/markdown/entities.ts'
import { highlight } from '../../web/markdown/highlight.ts'
import { findLanguage, type Language } from '../../web/markdown/languages.ts'
import { lex, type Node } from '../../web/markdown/lex.ts'
import { checkLink, showBidi } from '../../web/markdown/links.ts'
import { outline } from '../../web/markdown/outline.ts'
import { emptyReading, readMore } from '../../web/markdown/stream.ts'

describe('entities', () => {
  it.each([
    ['a &amp; b', 'a & b'],
    ['&lt;b&gt;', '<b>'],
    ['&quot;&apos;', `"'`],
    ['&nbsp;', '\u00A0'],
    ['&euro; &rarr; &hellip;', '€ → …'],
    ['&#65;&#x42;&#X43;', 'ABC'],
    ['&#128512;', '😀'],
    ['&amp;lt;', '&lt;'],
    ['&unknown;', '&unknown;'],
    ['&amp', '&amp'],
    ['&;', '&;'],
    ['AT&T', 'AT&T'],
    ['&#0;', '\uFFFD'],
    ['&#xD800;', '\uFFFD'],
    ['&#x110000;', '\uFFFD'],
    ['&#9999999;', '\uFFFD'],
    ['&#12345678;', '&#12345678;'],
    ['&constructor;', '&constructor;'],
  ])('of %j are %j', (text, decoded) => expect(decodeEntities(text)).toBe(decoded))

  it('make no half of a character of any text', () => {
    assert(
      property(array(constantFrom('&', '#', 'x', ';', 'D', '8', '0', 'amp', ' ')), (parts) => {
        expect(decodeEntities(parts.join('')).isWellFormed()).toBe(true)
      }),
    )
  })
})

describe('a language', () => {
  it.each<[string, Language | undefined]>([
    ['js', 'javascript'],
    ['JSX', 'javascript'],
    ['tsx', 'typescript'],
    ['py', 'python'],
    ['zsh', 'shell'],
    ['yml', 'yaml'],
    ['golang', 'go'],
    ['rs', 'rust'],
    ['vue', 'html'],
    ['scss', 'css'],
    ['sqlite', 'sql'],
    ['jsonc', 'json'],
    ['cobol', undefined],
    ['', undefined],
    ['js ', undefined],
    ['constructor', undefined],
  ])('%j is %j', (name, language) => expect(findLanguage(name)).toBe(language))

  it('has a text in tokens that are the text', () => {
    const code = array(
      constantFrom('a', '"', "'", '`', '${', '}', '/*', '*/', '//', '#', '<', '>', '\n', ' ', '\\', '\t', 'é'),
    ).map((parts) => parts.join(''))
    const languages = constantFrom<Language>('typescript', 'python', 'shell', 'html', 'json', 'css', 'sql', 'yaml')
    assert(
      property(code, languages, (text, language) => {
        expect(
          highlight(text, language)
            .map((token) => token.text)
            .join(''),
        ).toBe(text)
      }),
    )
  })
})

describe('a link', () => {
  it.each([
    ['https://example.com:8443/a', 'example.com:8443'],
    ['HTTPS://EXAMPLE.COM', 'example.com'],
    ['https://münchen.example/', 'xn--mnchen-3ya.example'],
    ['mailto:a@example.com', 'a@example.com'],
  ])('%j goes to %j', (href, host) => expect(checkLink(href, '')).toMatchObject({ host }))

  it.each([
    ['https://example.com/', 'EXAMPLE.com', false],
    ['https://example.com/', 'www.example.com', false],
    ['https://api.example.com/', 'example.com', true],
    ['https://example.com/', 'read a.b.example.com now', true],
    ['https://example.com/', 'version 1.2.3', false],
    [`https://example.com/#${'x'.repeat(101)}`, 'words', true],
    [`https://example.com/${'x'.repeat(300)}`, 'words', false],
    ['https://example.com/?q=1', 'words', false],
  ])('%j under %j asks first: %j', (href, text, isSuspicious) =>
    expect(checkLink(href, text)).toMatchObject({ isSuspicious }),
  )

  it.each([
    ['plain', 'plain'],
    ['\u200Ea\u2066b\u061C', '⟨U+200E⟩a⟨U+2066⟩b⟨U+061C⟩'],
    ['שלום', 'שלום'],
  ])('with the text %j shows %j', (text, shown) => expect(showBidi(text)).toBe(shown))
})

describe('the outline', () => {
  const heading = (depth: number): Node => ({ tag: 'heading', depth, children: [] })
  const block = (...nodes: readonly Node[]) => ({ raw: '', nodes })
  const levels = (depths: readonly number[], before: readonly number[] = []) =>
    outline([block(...depths.map(heading))], before).blocks.flatMap(({ nodes }) =>
      nodes.map((node) => node.tag === 'heading' && node.level),
    )

  it.each<[readonly number[], readonly number[], readonly number[]]>([
    [[1, 2, 3], [], [2, 3, 4]],
    [[3, 1, 2], [], [2, 2, 3]],
    [[1, 6, 6, 2], [], [2, 3, 3, 3]],
    [[1, 2, 3, 4, 5, 6], [], [2, 3, 4, 5, 6, 6]],
    [[3], [1, 2], [4]],
    [[1], [1, 2], [2]],
  ])('of the depths %j after %j has the levels %j', (depths, before, expected) =>
    expect(levels(depths, before)).toEqual(expected),
  )

  it('leaves no level out, whatever the depths are', () => {
    assert(
      property(array(integer({ min: 1, max: 6 }), { minLength: 1 }), (depths) => {
        const found = levels(depths).map(Number)
        expect(found[0]).toBe(2)
        for (const [at, level] of found.entries()) expect(level - (found[at - 1] ?? 2)).toBeLessThanOrEqual(1)
      }),
    )
  })

  it('leaves other nodes and headings of lists as they are', () => {
    const nodes: readonly Node[] = [{ tag: 'hr' }, { tag: 'quote', children: [heading(1)] }]
    expect(outline([block(...nodes)], [])).toEqual({ blocks: [block(...nodes)], depths: [] })
  })
})

describe('any text', () => {
  const parts = [
    'a',
    '*',
    '_',
    '`',
    '\n',
    '\n\n',
    '- ',
    '1. ',
    '> ',
    '# ',
    '| ',
    '---',
    '```',
    '[x](',
    ')',
    ' ',
    '\t',
    '<b>',
    '&lt;',
    '\r\n',
  ]
  const texts = array(constantFrom(...parts), { maxLength: 40 }).map((all) => all.join(''))
  const merge = (nodes: readonly Node[]): string => JSON.stringify(nodes).replaceAll(/"},\{"tag":"text","text":"/g, '')

  it('is the same piece by piece as at once, up to where its texts are cut', () => {
    assert(
      property(texts, integer({ min: 1, max: 9 }), (text, size) => {
        let reading = emptyReading
        for (let end = size; end < text.length + size; end += size) {
          // A line ending that is cut in its midst is not one.
          reading = readMore(reading, text.slice(0, end).replace(/\r$/, ''))
        }
        const whole = readMore(emptyReading, text)
        const nodesOf = ({ closed, open }: typeof whole) => [...closed, ...open].flatMap(({ nodes }) => nodes)
        expect(merge(nodesOf(reading))).toBe(merge(nodesOf(whole)))
      }),
    )
  })

  it('is kept by its blocks, character by character', () => {
    assert(
      property(texts, (text) => {
        // The lexer replaces tabs.
        const source = text.replaceAll('\r\n', '\n').replaceAll('\t', ' ')
        expect(
          lex(source)
            .map(({ raw }) => raw)
            .join('')
            .trimEnd(),
        ).toBe(source.trimEnd())
      }),
    )
  })
})
