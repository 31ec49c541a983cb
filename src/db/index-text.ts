/**
 * What the full-text tables are given. The same text goes through the same functions when a message
 * is stored and when it is asked for; that is all that makes a term found.
 */

import type { Entry, Page } from '../agent/model/history.ts'
import { textIn } from '../agent/model/message.ts'
import { hash53 } from '../agent/model/hash.ts'

const spoken = 8192
const returned = 2048
const typed = 2048

/** Scripts written without spaces: each character is a word of its own, and a run of them a phrase. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]/gu

/** One form for full-width and half-width letters, ligatures and composed accents. */
export const plainText = (text: string) => text.normalize('NFKC').replaceAll('\0', ' ')

/** Plain text with every character of an unspaced script standing alone. */
export function separated(text: string): string {
  const plain = plainText(text)
  return /[\u0e00-\uffff]/.test(plain) ? plain.replace(unspaced, ' $& ') : plain
}

/** The part of a message that is searched; '' for what nobody would look for. */
export function searchable({ message }: Entry): string {
  if (message.role === 'tool') return textIn(message).slice(0, returned)
  if (message.source === 'summary' || message.source === 'nudge') return ''
  return textIn(message).slice(0, spoken)
}

/** For the table of words: everything said and returned. '' when the page is not searched. */
export const wordsIn = (page: Page) =>
  page.indexed === false ? '' : separated(page.entries.map(searchable).join('\n')).trim()

/** For the table of pieces: only what people typed, as it multiplies its size. */
export const piecesIn = (page: Page) =>
  page.indexed === false ? '' : plainText(page.entries.map(typedText).join('\n')).trim()

const typedText = ({ message }: Entry) =>
  message.role === 'user' && message.source === undefined ? textIn(message).slice(0, typed) : ''

/**
 * The tenant as one word. Hex keeps ids apart; the last letter is no suffix of English, so that the
 * stemmer leaves the word as it is.
 */
export const tenantWord = (tenantId: string) =>
  `tn${[...new TextEncoder().encode(tenantId)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}q`

/**
 * The tenant as one trigram: three code points of 15 bits. Two tenants may share one by accident, which
 * costs time and nothing else: what is found is compared with the tenant_id of its session.
 */
export function tenantPiece(tenantId: string): string {
  const hash = hash53(tenantId)
  return String.fromCodePoint(...[0, 15, 30].map((bits) => 0x20000 + (Math.floor(hash / 2 ** bits) % 2 ** 15)))
}

const weekLength = 7 * 24 * 60 * 60 * 1000
export const weekOf = (at: number) => Math.max(0, Math.floor(at / weekLength))
/**
 * A week of one tenant as one word: a word for the week of everybody would be as long a list as all tenants
 * are busy. Two tenants may share one by accident, which costs time and nothing else.
 */
export const weekWord = (tenantId: string, week: number) => `w${hash53(tenantId).toString(36)}x${week}`
