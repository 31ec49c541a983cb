/**
 * A token count without a tokenizer: characters weighted by class, within ±15 % on English, code, JSON
 * and Japanese, high on Chinese and Russian. What the provider counts corrects it.
 */

import type { Message } from '../model/message.ts'

const weights = { letter: 1 / 4.6, digit: 1 / 2.2, space: 0.12, mark: 0.55, cjk: 0.85, other: 0.38 } as const
/** Runs this long are hashes or base64: far more tokens than letters. */
const runs = /[A-Za-z0-9+/_-]{61,}/g
const perRunCharacter = 1 / 1.7
/** An image costs about as much in every provider's books, whatever its bytes. */
const perImage = 1_600
/** Role, ids and separators. */
const perMessage = 6

export function tokensIn(text: string): number {
  let runCharacters = 0
  const prose = text.length > 60 ? text.replace(runs, (run) => ((runCharacters += run.length), '')) : text
  let sum = runCharacters * perRunCharacter
  for (let i = 0; i < prose.length; i++) sum += weightOf(prose.charCodeAt(i))
  return Math.ceil(sum)
}

const ascii = Float64Array.from({ length: 128 }, (_, code) => asciiWeight(String.fromCharCode(code)))

function asciiWeight(character: string): number {
  if (/[A-Za-z]/.test(character)) return weights.letter
  if (/[0-9]/.test(character)) return weights.digit
  return character <= ' ' ? weights.space : weights.mark
}

function weightOf(code: number): number {
  if (code < 128) return ascii[code] ?? 0
  const isKana = code >= 0x3040 && code <= 0x30ff
  const isHan = code >= 0x3400 && code <= 0x9fff
  const isHangul = code >= 0xac00 && code <= 0xd7af
  return isKana || isHan || isHangul ? weights.cjk : weights.other
}

export function tokensOf(message: Message): number {
  let sum = perMessage
  for (const part of message.content) {
    if (part.type === 'image') sum += perImage
    else if (part.type === 'call') sum += tokensIn(part.name) + tokensIn(JSON.stringify(part.input))
    else sum += tokensIn(part.text)
  }
  return sum
}
