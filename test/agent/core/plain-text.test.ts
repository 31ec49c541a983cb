import { describe, expect, it } from 'vitest'
import { decodePlainText } from '#agent/core/plain-text.ts'

const latin = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0))
const utf8 = (text: string) => new TextEncoder().encode(text)
const utf16 = (text: string, isBig: boolean) =>
  Uint8Array.from(
    [...`\uFEFF${text}`].flatMap((char) => {
      const code = char.charCodeAt(0)
      return isBig ? [code >> 8, code & 0xff] : [code & 0xff, code >> 8]
    }),
  )

describe('decodePlainText', () => {
  it.each([
    ['UTF-8', utf8('Grüße 日本 🎉'), 'Grüße 日本 🎉'],
    ['UTF-8 with its mark', utf8('\uFEFFa;b'), 'a;b'],
    ['UTF-16, little end first', utf16('Größe\tб', false), 'Größe\tб'],
    ['UTF-16, big end first', utf16('Größe', true), 'Größe'],
    ['Windows-1252', latin('Stra\u00dfe;Stra\u00dfen\nM\u00fcller;\u0080 5\n'), 'Straße;Straßen\nMüller;€ 5\n'],
    ['nothing', new Uint8Array(), ''],
  ])('reads %s', (_, bytes, text) => {
    expect(decodePlainText(bytes)).toBe(text)
  })

  it.each([
    ['a binary', Uint8Array.from([0x7f, 0x45, 0x4c, 0x46, 0, 1])],
    ['Shift-JIS', Uint8Array.from([0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea, 0x82, 0xcc, 0x83, 0x65])],
    ['Windows-1251', latin('\u00cf\u00f0\u00e8\u00e2\u00e5\u00f2 \u00ec\u00e8\u00f0')],
    ['UTF-8 with an error', new Uint8Array([...utf8('Grüße aus Köln'), 0xff])],
  ])('leaves %s', (_, bytes) => {
    expect(decodePlainText(bytes)).toBeUndefined()
  })
})
