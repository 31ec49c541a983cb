/** Reads the text that a person wrote in a mail, without the quoted rest, and renders answers. */

import type { MessageChunk } from '#agent/core/delivery.ts'
import { describeForward } from '../text/describe-forward.ts'
import { parseMarkdown } from '../text/parse-markdown.ts'
import { writeLinkAddresses } from '../text/plain-links.ts'
import { splitText } from '../text/split-text.ts'

/** A mail may be longer, but a longer answer is better read as several. */
export const maxTextChars = 50_000

export const renderEmail = (source: string, format: 'markdown' | 'plain'): readonly MessageChunk[] => {
  const { text, spans } = format === 'plain' ? { text: source, spans: [] } : parseMarkdown(source)
  return splitText(text, spans, { max: maxTextChars, unit: 'utf16', maxSpans: 10_000 })
}

/** The part of a mail that shows no styles. */
export const encodePlain = ({ text, spans }: MessageChunk): string =>
  writeLinkAddresses({ text, spans: [...spans] }).text

const attribution =
  /^(On|Am|Le|El|Il|Op|Den|W dniu) .{1,300}(wrote|schrieb|écrit|escribió|scritto|schreef|skrev|napisa\u0142\(a\)).{0,200}:$/
const divider =
  /^(-{2,10} ?(Original Message|Ursprüngliche Nachricht|Forwarded message|Weitergeleitete Nachricht) ?-{2,10}|_{20,100})$/

/** The lines above a quoted mail are written in the language of the mail program. */
const fromLabels =
  'From|Von|De|De la|Da|Van|Od|Från|Fra|Lähettäjä|Expéditeur|Remitente|Mittente|Afzender|Nadawca|Odesílatel|Kimden|Gönderen|Feladó|Από|От|От кого|Від|Від кого|发件人|寄件者|寄件人|差出人|送信者|보낸 사람|발신|מאת|من|Dari|Từ|จาก'
const subjectLabels =
  'Subject|Betreff|Objet|Asunto|Oggetto|Assunto|Onderwerp|Temat|Předmět|Predmet|Ämne|Emne|Aihe|Konu|Tárgy|Subiect|Θέμα|Тема|主题|主旨|件名|제목|נושא|الموضوع|Perihal|Subjek|Chủ đề|เรื่อง'
const fromLine = new RegExp(`^\\*?(?:${fromLabels})\\*?\\s?[:：]\\*?\\s*\\S`)
const subjectLine = new RegExp(`^\\*?(?:${subjectLabels})\\*?\\s?[:：]`)
const headerLine = /^\*?[^\s:\uff1a*][^:\uff1a]{0,30}[:\uff1a]/
/** Between the sender and the subject are a date and addressees. */
const maxHeaderLines = 7

/**
 * Removes the quoted mail below an answer, and the signature. A mail that is only a quote stays as it is, and so does the
 * mail that somebody passes on (`isAnswer` is false), marked as such, and a quote between whose lines the person has
 * written.
 */
export function stripQuotedReply(text: string, isAnswer = true): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const isCut = (n: number) => isAnswer && isQuoteStart(lines, n) && !isAnsweredBetween(lines, n)
  const end = lines.findIndex((line, n) => isCut(n) || isSignature(lines, n, line))
  const kept = (end < 0 ? lines : lines.slice(0, end)).join('\n').trim()
  return markPassedOn(kept || text.trim(), false)
}

/** `isForward`: the mail says so. Then all of it is of others where nothing shows where their words begin. */
export function markPassedOn(text: string, isForward: boolean): string {
  const lines = text.split('\n')
  const known = lines.findIndex((_, n) => isQuoteStart(lines, n) && !isAnsweredBetween(lines, n))
  const quoted = lines.findIndex((line) => line.startsWith('>'))
  const start = known < 0 && isForward ? Math.max(0, quoted) : known
  if (start < 0 || !text || /^\[Forwarded:\]$/m.test(text)) return text
  return [...lines.slice(0, start), describeForward(lines.slice(start).join('\n'))].join('\n')
}

/** A signature ends a mail. Below the signature of a person who passes a mail on, that mail follows. */
const isSignature = (lines: readonly string[], at: number, line: string): boolean =>
  line === '-- ' && !lines.slice(at + 1).some((_, n) => isQuoteStart(lines, at + 1 + n))

/** Programs break a quoted line that is longer, and its rest has no sign. */
const minBrokenChars = 60
/** The line above a quote may be two. */
const maxIntroLines = 3

/** Whether words of the person stand between or below the quoted lines. */
function isAnsweredBetween(lines: readonly string[], at: number): boolean {
  const isQuoted = (line: string) => line.startsWith('>')
  const first = lines.slice(at, at + maxIntroLines + 1).findIndex(isQuoted)
  if (first < 0) return false
  const rest = lines.slice(at + first)
  const end = rest.indexOf('-- ')
  return (end < 0 ? rest : rest.slice(0, end)).some((line, n, all) => {
    const before = all[n - 1] ?? ''
    const isRest = isQuoted(before) && before.length >= minBrokenChars && isQuoted(all[n + 1] ?? '>')
    return line.trim() !== '' && !isQuoted(line) && !isRest
  })
}

function isQuoteStart(lines: readonly string[], at: number): boolean {
  const line = (lines[at] ?? '').trim()
  if (divider.test(line)) return lines.slice(at + 1, at + 6).some((one) => fromLine.test(one.trim()))
  if (line.length >= 400 || line === '') return false
  return isHeaderBlock(lines, at) || isAttribution(lines, at)
}

/** Outlook writes the headers of the quoted mail above it: sender, date, addressees, subject. */
function isHeaderBlock(lines: readonly string[], at: number): boolean {
  if (!fromLine.test((lines[at] ?? '').trim())) return false
  const block = lines.slice(at + 1, at + maxHeaderLines).map((line) => line.trim())
  const subject = block.findIndex((line) => subjectLine.test(line))
  // Without an empty line above it the block must be complete.
  const isApart = (lines[at - 1] ?? '').trim() === ''
  return subject >= (isApart ? 1 : 2) && block.slice(0, subject).every((line) => headerLine.test(line))
}

/** Some mail programs break the line before "wrote:". */
function isAttribution(lines: readonly string[], at: number): boolean {
  const line = (lines[at] ?? '').trim()
  const joined = `${line} ${(lines[at + 1] ?? '').trim()}`
  const candidates = [line, ...(joined.length < 400 ? [joined] : [])]
  if (candidates.some((one) => attribution.test(one)))
    return lines.slice(at + 1, at + 5).some((next) => next.startsWith('>'))
  return candidates.some((one, n) => introducesQuote(one) && quoteFollows(lines, at + 1 + n))
}

const address = /(?<![^\s<>()@])[^\s<>()@]{1,100}@[^\s<>()@]{1,100}\.[^\s<>()@.]{2,30}/
const year = /(?<!\p{Nd})\p{Nd}{4}(?!\p{Nd})/u
const timeOfDay = /(?<!\p{Nd})\p{Nd}{1,2}[:.]\p{Nd}{2}(?!\p{Nd})/u

/** In any language: a line with an address or a date, and a colon at its end. */
const introducesQuote = (line: string): boolean =>
  /[:\uff1a]$/.test(line) && /\p{Nd}/u.test(line) && (address.test(line) || (year.test(line) && timeOfDay.test(line)))

const quoteFollows = (lines: readonly string[], at: number): boolean =>
  lines
    .slice(at, at + 3)
    .find((line) => line.trim() !== '')
    ?.startsWith('>') === true

const blockTags = /^(p|div|br|li|tr|h[1-6]|blockquote|table|ul|ol|pre|hr)$/
const cellTags = /^(td|th)$/
const hiddenTags = /^(style|script|head|title)$/
const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/** Elements in which mail programs put the mail that is answered, or the line above it. */
const quoteMark =
  /\s(?:class|id)\s?=\s?["']?[^"'>]{0,100}\b(?:gmail_quote|gmail_extra|yahoo_quoted|moz-cite-prefix|protonmail_quote|tutanota_quote|zmail_extra|mail_quote|reply-intro)\b|\stype\s?=\s?["']?cite\b/i
const signatureMark = /\s(?:class|id)\s?=\s?["']?[^"'>]{0,100}\b(?:moz-signature|gmail_signature)\b/i
/** All that follows is the mail that is answered. */
const quoteBorder =
  /\sid\s?=\s?["']?(?:divRplyFwdMsg|appendonsend|mail-editor-reference-message-container|OLK_SRC_BODY_SECTION)\b/i
const voidTags = /^(br|hr|img|input|meta|link|col|wbr)$/
const maxTagChars = 4_000

/** The readable text of a mail that has no plain part. Without the quoted mail, if it is an answer below none of it. */
export function textOfHtml(html: string, isAnswer = false): string {
  const own = renderHtml(html, isAnswer ? 'own' : 'whole')
  if (own.isAnsweredBetween) return renderHtml(html, 'whole').text
  const whole = own.text ? '' : renderHtml(html, 'whole').text
  return whole && isAnswer ? describeForward(whole) : own.text || whole
}

/** `own`: without quotes and signatures. Others have a sign in front of their lines, as in plain mails. */
type HtmlMode = 'own' | 'whole'

type HtmlState = {
  out: string
  /** The element whose content is left out. */
  hidden: { readonly name: string; readonly isGmail: boolean; depth: number } | undefined
  /** Open quotes within it, and whether one has ended. */
  hiddenQuotes: number
  hasQuoteEnded: boolean
  isAnsweredBetween: boolean
  /** Beginnings of the open quotes. Undefined: one that is not marked. */
  readonly quotes: (number | undefined)[]
  readonly links: { readonly address: string; readonly start: number }[]
}

function renderHtml(html: string, mode: HtmlMode) {
  const state: HtmlState = {
    out: '',
    hidden: undefined,
    hiddenQuotes: 0,
    hasQuoteEnded: false,
    isAnsweredBetween: false,
    quotes: [],
    links: [],
  }
  let at = 0
  for (const tag of listTags(html)) {
    addText(state, html.slice(at, tag.from))
    at = tag.to
    const source = html.slice(tag.from, Math.min(tag.to, tag.from + maxTagChars))
    if (mode === 'own' && !state.hidden && quoteBorder.test(source)) {
      at = html.length
      break
    }
    if (state.hidden) skipTag(state, state.hidden, tag)
    else if (startsHidden(tag, source, mode)) hide(state, tag, source)
    else addTag(state, tag, source)
  }
  addText(state, html.slice(at))
  return {
    text: trimLines(state.out)
      .replace(/\n{3,}/g, '\n\n')
      .trim(),
    isAnsweredBetween: state.isAnsweredBetween,
  }
}

/** Gmail keeps answers between quotes within the element of the whole quote. */
function addText(state: HtmlState, source: string): void {
  const { hidden, hiddenQuotes, hasQuoteEnded } = state
  if (hidden && !(hidden.isGmail && hasQuoteEnded && hiddenQuotes === 0)) return
  const text = decodeEntities(source).replace(/\s+/g, ' ')
  if (hasQuoteEnded && text.trim() !== '') state.isAnsweredBetween = true
  if (!hidden) state.out += text
}

function hide(state: HtmlState, { name }: HtmlTag, source: string): void {
  state.hidden = { name, isGmail: /\bgmail_quote\b/i.test(source), depth: 1 }
  state.hiddenQuotes = name === 'blockquote' ? 1 : 0
}

const trimLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replace(/ ?\t[\t ]*/g, '\t').trim())
    .join('\n')

type HtmlTag = { readonly from: number; readonly to: number; readonly name: string; readonly isEnd: boolean }

const startsHidden = ({ name, isEnd }: HtmlTag, source: string, mode: HtmlMode): boolean =>
  !isEnd &&
  !voidTags.test(name) &&
  (hiddenTags.test(name) || (mode === 'own' && (quoteMark.test(source) || signatureMark.test(source))))

function skipTag(state: HtmlState, hidden: NonNullable<HtmlState['hidden']>, { name, isEnd }: HtmlTag): void {
  if (name === 'blockquote') state.hiddenQuotes += isEnd ? -1 : 1
  if (name === 'blockquote' && state.hiddenQuotes === 0) state.hasQuoteEnded = true
  if (name === hidden.name) hidden.depth += isEnd ? -1 : 1
  if (hidden.depth === 0) state.hidden = undefined
}

function addTag(state: HtmlState, tag: HtmlTag, source: string): void {
  const { name, isEnd } = tag
  if (name === 'blockquote') return markQuote(state, isEnd)
  if (name === 'a' && !isEnd) state.links.push({ address: addressOf(source), start: state.out.length })
  else if (name === 'a') addAddress(state)
  else if (cellTags.test(name) && isEnd) state.out += '\t'
  else if (blockTags.test(name) && (isEnd || name === 'br')) state.out += '\n'
}

/** Writes a sign before the lines of the outermost quote, which has those in it. */
function markQuote(state: HtmlState, isEnd: boolean): void {
  const { quotes } = state
  state.out += '\n'
  if (!isEnd) {
    const isInner = quotes.some((start) => start !== undefined)
    quotes.push(isInner ? undefined : state.out.length)
    return
  }
  const start = quotes.pop()
  if (start === undefined) return
  const quoted = trimLines(state.out.slice(start)).trim()
  state.out = `${state.out.slice(0, start)}${quoted.replace(/^/gm, '> ')}\n`
}

const addressOf = (source: string): string =>
  decodeEntities(/\shref\s?=\s?(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i.exec(source)?.slice(1).find(Boolean) ?? '').trim()

/** The address stands behind the words of a link, unless they are the address. */
function addAddress(state: HtmlState): void {
  const { address: found = '', start = 0 } = state.links.pop() ?? {}
  const words = state.out.slice(start).trim()
  const plain = (text: string) => text.replace(/^https?:\/\/|\/$/g, '')
  if (/^(?:https?|ftp):/i.test(found) && words !== '' && plain(words) !== plain(found)) state.out += ` (${found})`
}

function* listTags(html: string) {
  for (let from = html.indexOf('<'); from >= 0;) {
    const close = html.indexOf('>', from)
    if (close < 0) return
    const [, slash = '', name = ''] = /^(\/?)([a-z0-9]{1,20})/i.exec(html.slice(from + 1, from + 24)) ?? []
    yield { from, to: close + 1, name: name.toLowerCase(), isEnd: slash !== '' }
    from = html.indexOf('<', close)
  }
}

const decodeEntities = (text: string): string =>
  text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,6});/gi, (whole, entity: string) => {
    const lower = entity.toLowerCase()
    if (!lower.startsWith('#')) return named[lower] ?? whole
    const code = lower.startsWith('#x') ? Number.parseInt(lower.slice(2), 16) : Number(lower.slice(1))
    return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole
  })
