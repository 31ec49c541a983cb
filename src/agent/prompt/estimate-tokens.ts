/**
 * A token count without a tokenizer: characters weighted by class, within ±15 % on English, code, JSON
 * and Japanese, high on Chinese and Russian. What the provider counts corrects it.
 */

import type { Message } from '../model/message.ts'

const tokensPerChar = { letter: 1 / 4.6, digit: 1 / 2.2, space: 0.12, mark: 0.55, cjk: 0.85, other: 0.38 } as const
/** Runs this long are hashes or base64: far more tokens than letters. */
const longRuns = /[A-Za-z0-9+/_-]{61,}/g
const tokensPerRunChar = 1 / 1.7
/** An image costs about as much in every provider's books, whatever its bytes. */
const tokensPerImage = 1_600
/** Role, ids and separators. */
const tokensPerMessage = 6

export function estimateTokens(text: string): number {
  let runCharacters = 0
  const prose = text.length > 60 ? text.replace(longRuns, (run) => ((runCharacters += run.length), '')) : text
  let sum = runCharacters * tokensPerRunChar
  for (let i = 0; i < prose.length; i++) sum += tokensOfChar(prose.charCodeAt(i))
  return Math.ceil(sum)
}

const asciiTable = Float64Array.from({ length: 128 }, (_, code) => asciiTokens(String.fromCharCode(code)))

function asciiTokens(character: string): number {
  if (/[A-Za-z]/.test(character)) return tokensPerChar.letter
  if (/[0-9]/.test(character)) return tokensPerChar.digit
  return character <= ' ' ? tokensPerChar.space : tokensPerChar.mark
}

function tokensOfChar(code: number): number {
  if (code < 128) return asciiTable[code] ?? 0
  const isKana = code >= 0x3040 && code <= 0x30ff
  const isHan = code >= 0x3400 && code <= 0x9fff
  const isHangul = code >= 0xac00 && code <= 0xd7af
  return isKana || isHan || isHangul ? tokensPerChar.cjk : tokensPerChar.other
}

export function estimateMessageTokens(message: Message): number {
  let sum = tokensPerMessage
  for (const part of message.content) {
    if (part.type === 'image') sum += tokensPerImage
    else if (part.type === 'call') sum += estimateTokens(part.name) + estimateTokens(JSON.stringify(part.input))
    else sum += estimateTokens(part.text)
  }
  return sum
}
