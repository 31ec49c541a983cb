/** Writes Discord's Markdown, and reads the texts of its messages. */

import { defineDialect } from '../kit/dialect.ts'
import { bareUrls, withoutPunctuation } from '../text/bare-url.ts'
import { type MarkDialect, separateTicks } from '../text/encode-marks.ts'
import { maxLinkedUrlChars } from '../text/plain-links.ts'

/** Discord counts characters; UTF-16 units are never fewer. */
export const maxTextChars = 2_000
const maxLanguageChars = 30

const escape = (text: string): string => text.replace(/[\\*_~`|[\]<]/g, (mark) => `\\${mark}`)

const percentCodes: Readonly<Record<string, string>> = { '*': '%2A', '|': '%7C', '`': '%60', '\\': '%5C' }

const encodeUrl = (url: string): string => url.replace(/[*|`\\]/g, (char) => percentCodes[char] ?? char)

/** In angle brackets an address ends where it ends, and Discord shows no preview of it. */
function escapeText(text: string, before: string): string {
  let out = ''
  let at = 0
  for (const { 0: found, index } of text.matchAll(bareUrls)) {
    const url = withoutPunctuation(found)
    out += `${escape(text.slice(at, index))}<${encodeUrl(url)}>`
    at = index + url.length
  }
  out += escape(text.slice(at))
  return before === '' ? escapeLineStart(out) : out
}

/** Headings, small text, quotes, and lists begin lines. */
const escapeLineStart = (line: string): string => line.replace(/^(\s{0,200})([#>+-])/, '$1\\$2')

const marks: MarkDialect = {
  marks: { bold: '**', italic: '*', underline: '__', strikethrough: '~~', spoiler: '||' },
  needsBoundaries: false,
  escapeText,
  encodeCode,
  encodeLink: (url, label, text) => {
    if (text === url) return label
    if (!/^https?:/i.test(url)) return `${label} (${escape(url)})`
    // Discord shows a label that looks like an address as it is written.
    return text.includes('://') ? `${label} (<${encodeUrl(url)}>)` : `[${label}](<${encodeUrl(url)}>)`
  },
  encodePre: separateTicks,
  openPre: (language = '') =>
    language.length <= maxLanguageChars && /^[\w+#.-]*$/.test(language) ? `\`\`\`${language}` : '```',
}

/** Longer marks than any run of ticks inside. */
function encodeCode(code: string): string | undefined {
  if (!code.includes('`')) return `\`${code}\``
  return code.includes('``') ? undefined : `\`\` ${code} \`\``
}

export const { encode: encodeDiscord, render: renderDiscord } = defineDialect({
  max: maxTextChars,
  unit: 'utf16',
  marks,
  maxLinkedChars: maxLinkedUrlChars,
})

type Mentioned = { readonly id: string; readonly username: string }

type Own = { readonly bots: readonly string[]; readonly roles: readonly string[] }

/** Replaces mentions by names. Those of the bot at the beginning are left out: they only address it. */
export function decodeContent(content: string, mentioned: readonly Mentioned[], { bots, roles }: Own): string {
  const ownMentions = [...bots.map((bot) => `!?${bot}`), ...roles.map((role) => `&${role}`)]
  let text = content
  for (const own of ownMentions) text = text.replace(new RegExp(`^\\s{0,100}<@${own}>[\\s,:]{0,20}`), '')
  return text.replace(/<@!?(\d{1,20})>/g, (whole, id: string) => {
    const name = mentioned.find((one) => one.id === id)?.username
    return name === undefined ? whole : `@${name}`
  })
}
