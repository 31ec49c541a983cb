/**
 * Prepares text for the full-text tables. Stored messages and queries must go through the same functions, otherwise
 * terms are not found.
 */

import type { Entry, Page } from '#agent/core/history.ts'
import { textIn } from '#agent/core/message.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { classifySource, type SourceClass } from '#agent/memory/session-source.ts'
import { toHex } from '#durable/platform/hash.ts'

const maxMessageChars = 8192
const maxToolResultChars = 2048
const maxTypedChars = 2048

/** Scripts without spaces. Each character is indexed as a word, and a run of characters is searched as a phrase. */
const unspacedScripts =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]/gu

/** Normalizes full-width letters, ligatures and accents (NFKC). */
export const normalizeText = (text: string) => text.normalize('NFKC').replaceAll('\0', ' ')

/** Normalizes the text and puts spaces around every character of a script without spaces. */
export function separateUnspaced(text: string): string {
  const plain = normalizeText(text)
  return /[\u0e00-\uffff]/.test(plain) ? plain.replace(unspacedScripts, ' $& ') : plain
}

const pictographs = /\p{Extended_Pictographic}|\p{Regional_Indicator}{2}/gu

/** The word that stands for an emoji in the index, which has none of their characters. */
const emojiWord = (picture: string): string =>
  `qzx${[...picture].map((char) => (char.codePointAt(0) ?? 0).toString(16)).join('x')}`

/** Replaces emoji by their words. */
export const nameEmoji = (text: string): string =>
  text.replace(pictographs, (picture) => ` ${emojiWord(picture)} `).trim()

/** They stand behind the text, so that the words of a phrase stay together. */
const listEmojiWords = (text: string): string => [...new Set(text.match(pictographs))].map(emojiWord).join(' ')

/** Tools whose results repeat text that is stored elsewhere: a search would find what it has shown before. */
const echoingTools: ReadonlySet<string> = new Set(['session_search', 'memory', 'todo', 'skill_view', 'skills_list'])

/** Returns the part of a message that is searched; empty for summaries, nudges and echoes. */
export function getSearchableText({ message }: Pick<Entry, 'message'>): string {
  if (message.role === 'tool') return echoingTools.has(message.name) ? '' : textIn(message).slice(0, maxToolResultChars)
  if (message.source === 'summary' || message.source === 'nudge') return ''
  return textIn(message).slice(0, maxMessageChars)
}

/** Returns the text for the table `words`: messages and tool results. Empty when the page is not searched. */
export const getPageWords = (page: Page, renderBaseForms: RenderForms) =>
  page.indexed === false ? '' : renderWords(page.entries.map(getSearchableText).join('\n'), renderBaseForms)

/** Renders the base forms of the words of a text (search/word-forms.ts), which is loaded when it is needed. */
export type RenderForms = (text: string) => string

/** Renders a text for the table `words`: with base forms of words that the stemmer of the index does not know. */
export function renderWords(text: string, renderBaseForms: RenderForms): string {
  const forms = renderBaseForms(text)
  const emoji = listEmojiWords(text)
  return `${separateUnspaced(text)}${forms && `\n${forms}`}${emoji && `\n${emoji}`}`.trim()
}

/** Returns the text for the trigram table `pieces`: only typed messages, because trigrams multiply the size. */
export const getPagePieces = (page: Page) =>
  page.indexed === false ? '' : normalizeText(page.entries.map(getTypedText).join('\n')).trim()

const getTypedText = ({ message }: Entry) =>
  message.role === 'user' && message.source === undefined ? textIn(message).slice(0, maxTypedChars) : ''

/**
 * Encodes the tenant as one word. Hex keeps ids distinct. The last letter is no English suffix, so the stemmer does
 * not change the word.
 */
export const tenantWord = (tenantId: string) => `tn${toHex(new TextEncoder().encode(tenantId))}q`

/**
 * Encodes the tenant as one trigram: three code points of 15 bits. A collision of two tenants only costs time,
 * because every match is compared with the `tenant_id` of its session.
 */
export function tenantPiece(tenantId: string): string {
  const hash = hash53(tenantId)
  return String.fromCodePoint(...[0, 15, 30].map((bits) => 0x20000 + (Math.floor(hash / 2 ** bits) % 2 ** 15)))
}

/**
 * Encodes the tenant and the class of the session's source for a row of `words`. Rows of interactive sessions have the
 * tenant alone, so that a search leaves the others out without reading them.
 */
export const renderTenantWords = (tenantId: string, source: string): string =>
  [tenantWord(tenantId), ...otherClass(source).map((name) => classWord(tenantId, name))].join(' ')
export const classWord = (tenantId: string, name: OtherClass): string => tenantWord(tenantId).replace(/q$/, `${name}q`)

/** The same for a row of `pieces`. */
export const renderTenantPieces = (tenantId: string, source: string): string =>
  [tenantPiece(tenantId), ...otherClass(source).map((name) => classPiece(tenantId, name))].join(' ')
export const classPiece = (tenantId: string, name: OtherClass): string => tenantPiece(`${tenantId} ${name}`)

export type OtherClass = Exclude<SourceClass, 'interactive'>
function otherClass(source: string): readonly OtherClass[] {
  const name = classifySource(source)
  return name === 'interactive' ? [] : [name]
}

const weekMs = 7 * 24 * 60 * 60 * 1000
export const weekNumber = (at: number) => Math.max(0, Math.floor(at / weekMs))

/**
 * Encodes a week of one tenant as one word. A word shared by all tenants would have a posting list as long as their
 * messages of that week. A collision of two tenants only costs time.
 */
export const weekWord = (tenantId: string, week: number) => `w${hash53(tenantId).toString(36)}x${week}`

/** The beginning of the words of all weeks that begin with these digits. */
export const weekPrefix = (tenantId: string, digits: string) => `w${hash53(tenantId).toString(36)}x${digits}`
