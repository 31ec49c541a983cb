/** Reads the text that a person wrote in a mail, without the quoted rest, and renders answers. */

import type { MessageChunk } from '#agent/core/delivery.ts'
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
  /^(On|Am|Le|El|Il|Op|Den|W dniu) .{1,300}(wrote|schrieb|écrit|escribió|scritto|schreef|skrev|napisał\(a\)).{0,200}:$/
const divider = /^(-{2,10} ?(Original Message|Ursprüngliche Nachricht|Forwarded message) ?-{2,10}|_{20,100})$/

/** Removes the quoted mail below an answer, and the signature. A mail that is only a quote stays as it is. */
export function stripQuotedReply(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const end = lines.findIndex((line, n) => isQuoteStart(lines, n) || line === '-- ')
  const kept = (end < 0 ? lines : lines.slice(0, end)).join('\n').trim()
  return kept || text.trim()
}

function isQuoteStart(lines: readonly string[], at: number): boolean {
  const line = (lines[at] ?? '').trim()
  if (divider.test(line)) return isAttributed(lines, at)
  // Some mail programs break the line before "wrote:".
  const joined = `${line} ${(lines[at + 1] ?? '').trim()}`
  if (line.length < 400 && (attribution.test(line) || (joined.length < 400 && attribution.test(joined))))
    return lines.slice(at + 1, at + 5).some((next) => next.startsWith('>'))
  return false
}

/** A divider belongs to a quoted mail only if headers of one follow. */
const isAttributed = (lines: readonly string[], at: number): boolean =>
  lines.slice(at + 1, at + 6).some((line) => /^\*?(From|Von|De|Da|Van):\*? /.test(line.trim()))

const blockTags = /^(p|div|br|li|tr|h[1-6]|blockquote|table|ul|ol|pre|hr)$/
const hiddenTags = /^(style|script|head|title)$/
const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/** The readable text of a mail that has no plain part. */
export function textOfHtml(html: string): string {
  let out = ''
  let at = 0
  let hidden: string | undefined
  for (const { from, to, name, isEnd } of listTags(html)) {
    if (hidden === undefined) out += decodeEntities(html.slice(at, from)).replace(/\s+/g, ' ')
    at = to
    if (hidden !== undefined) hidden = isEnd && name === hidden ? undefined : hidden
    else if (hiddenTags.test(name) && !isEnd) hidden = name
    else if (blockTags.test(name) && (isEnd || name === 'br')) out += '\n'
  }
  if (hidden === undefined) out += decodeEntities(html.slice(at)).replace(/\s+/g, ' ')
  const lines = out.split('\n').map((line) => line.trim())
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
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
