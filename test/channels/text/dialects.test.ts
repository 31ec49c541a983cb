/**
 * Tests the dialects on generated Markdown: every chunk is legal by itself, fits, and nothing is lost. RENDERED_DOCS and
 * RENDERED_SEED choose more documents (npm run chaos).
 */

import { describe, expect, it } from 'vitest'
import type { MessageChunk, TextSpan } from '#agent/core/delivery.ts'
import { encodeDiscord, renderDiscord } from '#channels/discord/discord-markdown.ts'
import { encodePlain, renderEmail } from '#channels/email/email-text.ts'
import { countSegments, renderSms } from '#channels/sms/sms.ts'
import { encodeMrkdwn, renderMrkdwn, renderSections } from '#channels/slack/mrkdwn.ts'
import { messageFields } from '#channels/telegram/telegram.ts'
import { telegram } from '#channels/telegram/telegram.ts'
import { encodeHtml } from '#channels/text/encode-html.ts'
import { parseMarkdown } from '#channels/text/parse-markdown.ts'
import { encodeWhatsapp, renderWhatsapp } from '#channels/whatsapp/whatsapp.ts'

const { RENDERED_DOCS = '200', RENDERED_SEED = '1' } =
  (globalThis as { process?: { env: Record<string, string> } }).process?.env ?? {}
const zeroWidth = /\u200b/g

function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d_2b_79_f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const pieces = [
  ['word', 'näher', '😀', 'x', '1', 'a_b_c', '2 * 3', 'R&D', '<b>', '&amp;', '漢字', 'e\u0301', '¡olé!', '“q”'],
  ['**bold**', '*it*', '_it_', '***both***', '~~gone~~', '||secret||', '`code`', '``a`b``', '**a *b* c**', '__u__'],
  ['[label](https://x.test/a_b?c=1&d=*)', '[x](https://x.test/a(b))', '<https://x.test/|y>', '[m](mailto:a@x.test)'],
  [`https://x.test/${'a'.repeat(600)}_b_&c=*d*`, `[y](https://x.test/${'_a_'.repeat(200)})`],
  ['https://x.test/_a_*b*', '[https://x.test](https://y.test)', '![i](https://x.test/i.png)', '@everyone', '<@123>'],
  ['*', '_', '`', '~', '|', '[', '](', ')', '\\', '>', '#', '-', '**', '```', '<', '&', '<@U1>', '<!here>'],
  [' ', ' ', ' ', '\n', '\n', '\n\n', '\n> ', '\n- ', '\n1. ', '\n## ', '\n---\n', '\n> > '],
  ['\n```js\nlet a = `1` // <b> & *x*\n\n  if (a) {}\n```\n', '\n```\nx\n', '\n~~~\n```\n~~~\n'],
  ['\n- a\n    - b\n      ```py\n      a*b*c\n\n      __d__\n      ```\n'],
  ['\n| a | b |\n|---|---|\n| `x` | **y** |\n| <z> | & |\n'],
  [`\n\`\`\`${'info'.repeat(475)}\ncode\n\`\`\`\n`],
].flat()

function documentOf(random: (below: number) => number): string {
  // Most are short; some need several messages, with words and lines that are too long for one.
  const size = random(60) === 0 ? 40 + random(500) : 1 + random(12)
  let text = ''
  for (let n = 0; n < size; n++) {
    const piece = pieces[random(pieces.length)] ?? ''
    text += random(300) === 0 ? piece.trim().repeat(200) : piece
    if (random(3) === 0) text += ' '
  }
  return text
}

/** A document of well-formed blocks, and the words, lines of code and addresses that a reader must find in it. */
function markedDocumentOf(random: (below: number) => number) {
  const marked: string[] = []
  const mark = (text: string): string => {
    marked.push(text)
    return text
  }
  const word = () => mark(`w${marked.length}x`)
  const url = () => mark(`https://x.test/${marked.length}/_a_*b*c/(d)[e]?f=__g__~~${'h'.repeat(random(2) * 600)}_i`)
  const inline: readonly (() => string)[] = [
    word,
    url,
    () => `<${url()}>`,
    () => `[${word()}](${url()} "t")`,
    () => `![${word()}](${url()})`,
    () => `**${word()} _${word()}_**`,
    () => `_${word()} ${url()} ${word()}_`,
    () => `**${url()}**`,
    () => `||${word()}|| ~~${word()}~~`,
    () => `\`${mark(`a*b*c_${marked.length}_d`)}\``,
    () => ['*', '_', ')', '2 * 3', '[ ]', '|', '>'][random(7)] ?? '',
  ]
  const line = () => Array.from({ length: 1 + random(4) }, () => inline[random(inline.length)]?.()).join(' ')
  const code = () => mark(`def __init__(a*b*c): # ${marked.length} [d](e) ~~f~~`)
  const block = (indent: string) =>
    [`\`\`\`py`, code(), '', `  ${code()}`, '```'].map((text) => indent + text).join('\n')
  const cell = () => (random(3) ? `${word()} **${word()}**` : `[${word()}](${url()})`)
  const list = () =>
    Array.from({ length: 1 + random(4) }, (_, level) => {
      const indent = ' '.repeat(level * 4)
      const item = random(4) ? line() : block(`${indent}  `).trimStart()
      return `${indent}- ${item}${random(2) ? `\n${block(`${indent}  `)}` : ''}`
    }).join('\n')
  const blocks: readonly (() => string)[] = [
    line,
    list,
    () => `## ${line()}`,
    () => block(''),
    () => `> ${line()}\n>\n${list().replace(/^/gm, '> ')}`,
    () => `| ${word()} | ${word()} |\n|---|---|\n| ${cell()} | ${cell()} |\n| ${cell()} | |`,
  ]
  const source = Array.from({ length: 1 + random(12) }, () => blocks[random(blocks.length)]?.()).join('\n\n')
  return { source, marked }
}

const withoutBlanks = (text: string): string => text.replace(/[\s\u200b]+/g, '')

/** Whether all characters of a text stand in another one, in order. */
function isContained(text: string, whole: string): boolean {
  let at = 0
  for (let n = 0; n < text.length; n++) {
    at = whole.indexOf(text[n] ?? '', at) + 1
    if (at === 0) return false
  }
  return true
}

type Dialect = {
  readonly name: string
  readonly render: (source: string, format: 'markdown' | 'plain') => readonly MessageChunk[]
  readonly encode: (chunk: MessageChunk) => string
  readonly max: number
  /** Throws unless the encoded message is legal. */
  readonly expectLegal: (encoded: string, chunk: MessageChunk) => void
  /** The characters that a reader sees. */
  readonly read: (encoded: string) => string
  /** Also the addresses that a reader can open. Default: those that are seen. */
  readonly readAll?: (encoded: string, chunk: MessageChunk) => string
  /** The text of a Markdown document that a reader must see. Default: what the parser finds. */
  readonly expected?: (source: string) => string
}

/** Lines that open or close a preformatted block stand alone, and every block ends. */
function expectClosedFences(encoded: string): void {
  const fences = encoded.split('\n').filter((line) => /^(> )?```[\w+#.-]*$/.test(line))
  expect(fences.length % 2).toBe(0)
  for (const [n, line] of fences.entries()) if (n % 2) expect(line.replace('> ', '')).toBe('```')
}

const readEntities = (text: string) =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')

/** Entities cover whole characters of the text, and are at most 100. */
function expectLegalEntities(text: string, chunk: MessageChunk): void {
  const { entities = [] } = messageFields({ address: { chat: '1' }, chunk }) as { entities?: readonly TextSpan[] }
  expect(entities.length).toBeLessThanOrEqual(100)
  for (const { offset, length } of entities)
    if (
      length <= 0 ||
      offset < 0 ||
      offset + length > text.length ||
      !text.slice(offset, offset + length).isWellFormed()
    )
      throw new Error(`an entity of ${length} at ${offset} in ${text.length}`)
}

const dialects: readonly Dialect[] = [
  {
    name: 'Telegram',
    render: telegram.render,
    encode: ({ text }) => text,
    max: 4_096,
    expectLegal: expectLegalEntities,
    read: (encoded) => encoded,
    readAll: (encoded, { spans }) => [encoded, ...spans.map(({ url }) => url)].join(' '),
  },
  {
    name: 'Slack',
    render: renderMrkdwn,
    encode: encodeMrkdwn,
    max: 4_000,
    expectLegal: (encoded, chunk) => {
      expectClosedFences(encoded)
      const rest = encoded.replace(/<[^<>\n]+>/g, '').replace(/^\u200b?> /gm, '')
      expect(rest).not.toMatch(/[<>]/)
      expect(encoded.replace(/&(amp|lt|gt);/g, '')).not.toContain('&')
      for (const section of renderSections(chunk)) expect(section.length).toBeLessThanOrEqual(3_000)
    },
    read: (encoded) => readEntities(encoded.replaceAll('%7C', '|')),
  },
  {
    name: 'Discord',
    render: renderDiscord,
    encode: encodeDiscord,
    max: 2_000,
    expectLegal: (encoded) => {
      expectClosedFences(encoded)
      for (const line of proseOf(encoded)) expectClosedMarks(line)
    },
    read: (encoded) => encoded.replace(/%(2A|7C|60|5C)/g, decodeURIComponent),
  },
  {
    name: 'WhatsApp',
    render: renderWhatsapp,
    encode: encodeWhatsapp,
    max: 4_096,
    expectLegal: expectClosedFences,
    read: (encoded) => encoded,
  },
  {
    name: 'SMS',
    render: renderSms,
    encode: ({ text }) => text,
    max: 1_600,
    expectLegal: (encoded) => expect(countSegments(encoded)).toBeLessThanOrEqual(10),
    read: (encoded) => encoded,
    expected: (source) => parseMarkdown(source, { hasColumns: false }).text.replace(/[•—☐☑“”]/g, ''),
  },
  {
    name: 'HTML of email',
    render: renderEmail,
    encode: encodeHtml,
    max: Infinity,
    expectLegal: expectClosedTags,
    read: (encoded) => readEntities(encoded.replace(/<[^<>]*>/g, '')),
    readAll: readEntities,
  },
  {
    name: 'text of email',
    render: renderEmail,
    encode: encodePlain,
    max: Infinity,
    expectLegal: () => undefined,
    read: (encoded) => encoded,
  },
]

/** The lines outside of preformatted blocks. */
function proseOf(encoded: string): readonly string[] {
  let isPre = false
  return encoded.split('\n').filter((line) => {
    const isFence = /^(> )?```[\w+#.-]*$/.test(line)
    if (isFence) isPre = !isPre
    return !isFence && !isPre
  })
}

/** Reads a line as Discord does: escapes, code and addresses first, then marks, each of which must close. */
function expectClosedMarks(line: string): void {
  const token = /\\[^0-9A-Za-z\s]|``.+?``|`[^`]+`|<https?:[^<>\s]+>|\*|__|~~|\|\|/g
  const counts: Record<string, number> = {}
  for (const [mark] of line.matchAll(token)) if (/^[*_~|]/.test(mark)) counts[mark] = (counts[mark] ?? 0) + 1
  for (const [mark, count] of Object.entries(counts)) if (count % 2) throw new Error(`${mark} stays open: ${line}`)
}

function expectClosedTags(html: string): void {
  const open: string[] = []
  for (const [, slash, name] of html.matchAll(/<(\/?)([a-z]+)[^<>]*>/g)) {
    if (name === 'br') continue
    if (slash) expect(open.pop()).toBe(name)
    else open.push(name ?? '')
  }
  expect(open).toEqual([])
  expect(html.replace(/<\/?[a-z]+( href="[^"<>]*" rel="noreferrer")?>/g, '')).not.toMatch(/[<>]/)
}

const textOf = (source: string) => parseMarkdown(source).text

/** 2 ms for a document, on a machine that is ten times as slow. */
const timeout = 60_000 + Number(RENDERED_DOCS) * 20

describe.each(dialects)(
  '$name',
  { timeout },
  ({ render, encode, max, expectLegal, read, readAll = read, expected = textOf }) => {
    it.each(['markdown', 'plain'] as const)('is legal, fits and keeps the parsed text: %s', (format) => {
      const count = Number(RENDERED_DOCS)
      let messages = 0
      for (let n = 0; n < count; n++) {
        const source = documentOf(randomOf(Number(RENDERED_SEED) * 1_000_003 + n))
        const chunks = render(source, format)
        messages += chunks.length
        const sent = chunks.map((chunk) => {
          const encoded = encode(chunk)
          const size = encoded.length
          if (size > max || !encoded.isWellFormed() || !chunk.text.trim())
            throw new Error(`document ${n}: ${size} characters`)
          if (encode({ ...chunk, spans: [] }).length > max) throw new Error(`document ${n}: too long without styles`)
          expectLegal(encoded, chunk)
          return read(encoded).replace(zeroWidth, '')
        })
        const text = format === 'plain' ? source : expected(source)
        if (!isContained(withoutBlanks(text), withoutBlanks(sent.join(''))))
          throw new Error(`document ${n} lost something:\n${source}\n=>\n${sent.join('\n---\n')}`)
      }
      expect(messages).toBeGreaterThan(count / 2)
    })

    it('shows the words, the code and the addresses of the source', () => {
      for (let n = 0; n < Number(RENDERED_DOCS) / 4; n++) {
        const { source, marked } = markedDocumentOf(randomOf(Number(RENDERED_SEED) * 2_000_003 + n))
        const sent = render(source, 'markdown').map((chunk) => readAll(encode(chunk), chunk))
        const shown = withoutBlanks(sent.join(''))
        const lost = marked.filter((text) => !shown.includes(withoutBlanks(text)))
        expect(lost, `document ${n}:\n${source}\n=>\n${sent.join('\n---\n')}`).toEqual([])
      }
    })
  },
)

const one = (render: Dialect['render'], encode: Dialect['encode'], source: string, format: 'markdown' | 'plain') =>
  render(source, format).map((chunk) => encode(chunk).replace(zeroWidth, '·'))

describe('Slack', () => {
  it.each<[string, string, string]>([
    ['styles', '**b** *i* ~~s~~ `c` ***bi***', '*b* _i_ ~s~ `c` *_bi_*'],
    ['a link', '[a & b](https://x.test/?a=1&b=2)', '<https://x.test/?a=1&amp;b=2|a &amp; b>'],
    ['a bare address', 'see https://x.test/_a_ now', 'see <https://x.test/_a_> now'],
    [
      'characters of its syntax',
      'a < b && c > d <!here> <@U1>',
      'a &lt; b &amp;&amp; c &gt; d &lt;!here&gt; &lt;@U1&gt;',
    ],
    ['a style in a word', 'un**bold**ed 漢**字**漢', 'un·*bold*·ed 漢·*字*·漢'],
    ['a style over two lines', '**a\nb**', '*a*\n*b*'],
    ['code with ticks', '``a`b``', 'a`b'],
    ['a block', '```js\nif (a < b) *x*\n```', '```\nif (a &lt; b) *x*\n```'],
    ['a quote', '> **a**\n> b', '> *a*\n> b'],
  ])('writes %s', (_name, source, expected) =>
    expect(one(renderMrkdwn, encodeMrkdwn, source, 'markdown')).toEqual([expected]),
  )

  it('separates marks that would begin a style', () => {
    expect(one(renderMrkdwn, encodeMrkdwn, '*a* snake_case 2 * 3\n> b', 'plain')).toEqual([
      '*·a* snake_case 2 * 3\n·&gt; b',
    ])
  })
})

describe('Discord', () => {
  it.each<[string, string, string]>([
    ['styles', '**b** *i* ~~s~~ ||p|| `c` ***bi***', '**b** *i* ~~s~~ ||p|| `c` ***bi***'],
    ['a link', '[a [b]](https://x.test/a_(b))', '[a \\[b\\]](<https://x.test/a_(b)>)'],
    ['a label that looks like an address', '[https://a.test](https://b.test)', '<https://a.test> (<https://b.test>)'],
    ['mentions', '<@1> <@&2> <#3>', '\\<@1> \\<@&2> \\<#3>'],
    ['two styles beside each other', '**a**_b_', '**a**·*b*'],
    ['an address with marks', 'see https://x.test/*a_b.', 'see <https://x.test/%2Aa_b>.'],
    ['code with a tick', '``a`b``', '`` a`b ``'],
    ['a block with its language', '```ts\nlet a\n```', '```ts\nlet a\n```'],
    ['a block without a language that fits', `\`\`\`${'x'.repeat(1_900)}\na\n\`\`\``, '```\na\n```'],
    ['ticks in a block', '~~~\n```\n~~~', '```\n`·``\n```'],
  ])('writes %s', (_name, source, expected) =>
    expect(one(renderDiscord, encodeDiscord, source, 'markdown')).toEqual([expected]),
  )

  it('keeps every message of a long block within the limit, whatever its language is called', () => {
    const lines = Array.from({ length: 400 }, (_, n) => `line ${n} 😀`).join('\n')
    const chunks = renderDiscord(`\`\`\`${'x'.repeat(1_900)}\n${lines}\n\`\`\``, 'markdown')
    const sent = chunks.map((chunk) => encodeDiscord(chunk))
    expect(Math.max(...sent.map(({ length }) => length))).toBeLessThanOrEqual(2_000)
    for (const text of sent) expect(text.match(/```/g)).toHaveLength(2)
    expect(
      chunks
        .map(({ text }) => text)
        .join('\n')
        .match(/line \d+ 😀/g),
    ).toHaveLength(400)
  })

  it('escapes marks of a plain text', () => {
    expect(one(renderDiscord, encodeDiscord, '# a *b* _c_ `d` [e](f)\n- g', 'plain')).toEqual([
      '\\# a \\*b\\* \\_c\\_ \\`d\\` \\[e\\](f)\n\\- g',
    ])
  })
})

describe('WhatsApp and SMS', () => {
  it.each<[string, string, string, string]>([
    ['styles', '**b** *i* ~~s~~ `c`', '*b* _i_ ~s~ `c`', 'b i s c'],
    ['a link', '[a](https://x.test/a_b)', 'a (https://x.test/a_b)', 'a (https://x.test/a_b)'],
    ['a bold link', '**see [a](https://x.test)** now', '*see a* (https://x.test) now', 'see a (https://x.test) now'],
    ['a list', '- [x] a — b\n- “c”', '☑ a — b\n• “c”', '[x] a - b\n- "c"'],
    [
      'a table',
      '| a | b |\n|---|---|\n| 1 | 22 |\n| 3 | |',
      '```\na | b\n--|---\n1 | 22\n3 |\n```',
      'a: 1\nb: 22\n\na: 3',
    ],
  ])('write %s', (_name, source, chat, text) => {
    expect(one(renderWhatsapp, encodeWhatsapp, source, 'markdown')).toEqual([chat])
    expect(one(renderSms, (chunk) => chunk.text, source, 'markdown')).toEqual([text])
  })

  it.each([
    ['160 characters', 'a'.repeat(160), 1],
    ['161 characters', 'a'.repeat(161), 2],
    ['characters of two places', '€'.repeat(80), 1],
    ['one more of them', '€'.repeat(81), 2],
    ['70 characters of UCS-2', 'ж'.repeat(70), 1],
    ['71 characters of UCS-2', 'ж'.repeat(71), 2],
  ])('count the segments of %s', (_name, text, segments) => expect(countSegments(text)).toBe(segments))
})
