import { describe, expect, it } from 'vitest'
import { decodeCodePage } from '#agent/core/code-pages.ts'
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

const base64 = (text: string) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
const withoutMark = (text: string, isBig: boolean) => utf16(text, isBig).subarray(2)

describe('decodeCodePage', () => {
  it.each([
    ['Shift_JIS', 'jWCCzJKqjqyVXILNlceCyYKggumBQpa+k/qCzInvi2OCzY9cjp6CqYLnjm6C3ILogtyCt4FC', '港の潮汐表は壁にある。'],
    ['EUC-JP', 'ucGkzsSsvK7JvaTPysmky6SipOuho8zAxvykzrLxtcSkz729u/6kq6Tpu8+k3qTqpN6kuaGj', '港の潮汐表は壁にある。'],
    ['windows-1251', 'z/Do6+ji+yDoIO7y6+ji+yDiIO/u8PLzOiDy4OHr6PbgIOLo8ejyIO3gIPHy5e3lLg==', 'Приливы и отливы'],
    ['KOI8-R', '8NLJzMnX2SDJIM/UzMnX2SDXINDP0tTVOiDUwcLMycPBINfJ08nUIM7BINPUxc7FLg==', 'Приливы и отливы'],
    ['GBK', 'ztLDx7XEuNu/2tTasbGx3yyzsc+rse3U2se9yc+ho8P3zOy1xLvh0unKrrXjv6rKvKGj', '我们的港口在北边'],
    ['Big5', 'p9qtzKq6tOSkZqZipV/D5KFBvOmmwartpmLA8KRXoUOp+qTRqrq3fMSzpFHCSbZ9qWyhQw==', '我們的港口在北邊'],
    ['EUC-KR', 'v+y4riDH17G4tMIgus/Cyr+hIMDWsO0sIMG2vK7HpbTCILquv6Egutm+7iDA1r3AtM+02S4=', '우리 항구는 북쪽에'],
  ])('reads %s', (encoding, bytes, opening) => {
    expect(decodeCodePage(base64(bytes))).toMatchObject({ encoding, text: expect.stringContaining(opening) })
  })

  it.each([
    ['UTF-16LE', withoutMark('Name;Größe\r\nAda;5\r\n', false)],
    ['UTF-16BE', withoutMark('Name;Größe\r\nAda;5\r\n', true)],
  ])('reads %s without its mark', (encoding, bytes) => {
    expect(decodeCodePage(bytes)).toEqual({ encoding, text: 'Name;Größe\r\nAda;5\r\n' })
  })

  it.each([
    ['a program', Uint8Array.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0x3e, 0])],
    ['zeros', new Uint8Array(64)],
    ['UTF-8 with an error', new Uint8Array([...utf8('Grüße aus Köln, '.repeat(9)), 0xff])],
    ['compressed bytes', Uint8Array.from({ length: 200 }, (_, n) => (n * n * 131 + 7 * n) % 256)],
    ['too few letters', Uint8Array.from([0x61, 0xe0, 0xe1])],
  ])('leaves %s', (_, bytes) => {
    expect(decodeCodePage(bytes)).toBeUndefined()
  })
})
