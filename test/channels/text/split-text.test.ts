import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseMarkdown } from '#channels/text/parse-markdown.ts'
import { splitText } from '#channels/text/split-text.ts'

describe('splitText', () => {
  const words = (count: number) => Array.from({ length: count }, (_, n) => `word${n}`).join(' ')
  const splitMarkdown = (markdown: string, length = 4_000) => {
    const { text, spans } = parseMarkdown(markdown)
    return { text, chunks: splitText(text, spans, { max: length, unit: 'utf16', maxSpans: 100 }) }
  }
  const withoutBlanks = (text: string) => text.replace(/\s+/g, '')

  it('makes short enough chunks that contain the whole text', () => {
    const { text, chunks } = splitMarkdown(`${words(800)}\n\n${'😀'.repeat(3_000)}\n\n| a |\n|---|\n| b |`)
    expect(chunks.length).toBeGreaterThan(2)
    for (const chunk of chunks) {
      expect(chunk.text.length).toBeLessThanOrEqual(4_000)
      expect(chunk.text.isWellFormed()).toBe(true)
    }
    expect(withoutBlanks(chunks.map((chunk) => chunk.text).join(''))).toBe(withoutBlanks(text))
  })

  it('cuts between paragraphs', () => {
    const { chunks } = splitMarkdown(`${'a'.repeat(60)}\n\n${'b'.repeat(60)}`, 100)
    expect(chunks.map(({ text }) => text)).toEqual(['a'.repeat(60), 'b'.repeat(60)])
  })

  const spaces = ' '.repeat(200_000)
  it.each([`[a](${spaces}x y)`, `|a|\n${spaces}x`, `\` ${'a '.repeat(100_000)}x\``])(
    'splits hostile input in linear time',
    (source) => {
      expect(splitMarkdown(source).text.length).toBeGreaterThan(100)
    },
  )

  it('repeats a style on both sides of a cut', () => {
    const code = Array.from({ length: 400 }, (_, n) => `line ${n} of some program`).join('\n')
    const { chunks } = splitMarkdown(`Look:\n\n\`\`\`ts\n${code}\n\`\`\`\ndone`)
    expect(chunks.length).toBeGreaterThan(1)
    for (const { spans, text } of chunks) {
      expect(spans).toHaveLength(1)
      expect(spans[0]).toMatchObject({ type: 'pre', language: 'ts' })
      expect(spans[0]?.length).toBeLessThanOrEqual(text.length)
    }
  })

  it('begins another message before a style that is one too many', () => {
    const { chunks } = splitMarkdown(Array.from({ length: 150 }, (_, n) => `- **item ${n}** with \`code\``).join('\n'))
    expect(Math.max(...chunks.map(({ spans }) => spans.length))).toBeLessThanOrEqual(100)
    expect(chunks.flatMap(({ spans }) => spans)).toHaveLength(300)
    for (const { text } of chunks) expect(text).toMatch(/^• item.*code$/s)
  })

  it('keeps every span inside its chunk, for any text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 300 }),
        fc.integer({ min: 5, max: 60 }),
        (source, length) => {
          const { text, chunks } = splitMarkdown(`**${source}** ${source}`, length)
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
