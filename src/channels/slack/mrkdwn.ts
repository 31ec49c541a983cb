/** Writes Slack's mrkdwn, and reads the texts of its events. */

import type { MessageChunk } from '#agent/core/delivery.ts'
import { defineDialect } from '../kit/dialect.ts'
import { type MarkDialect, separateMarksAroundUrls, separateTicks } from '../text/encode-marks.ts'
import { maxLinkedUrlChars } from '../text/plain-links.ts'
import { splitEncoded } from '../text/split-encoded.ts'

/** `chat.update` accepts 4000 characters. The rest is room for a line in front. */
export const maxTextChars = 3_900
/** One section of blocks accepts 3000. */
const maxSectionChars = 2_900

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** `|` would begin a label. */
const encodeUrl = (url: string): string => escape(url).replaceAll('|', '%7C')

const marks: MarkDialect = {
  marks: { bold: '*', italic: '_', strikethrough: '~' },
  needsBoundaries: true,
  escapeText: (text, before) =>
    separateMarksAroundUrls(text, before, { encodeText: escape, encodeUrl: (url) => `<${encodeUrl(url)}>` }),
  encodeCode: (code) => (code.includes('`') ? undefined : `\`${escape(code)}\``),
  // A label shows marks as characters, so it is the text without styles.
  encodeLink: (url, _label, text) => `<${encodeUrl(url)}${text === url ? '' : `|${escape(text)}`}>`,
  encodePre: (line) => escape(separateTicks(line)),
  openPre: () => '```',
}

export const {
  encode: encodeMrkdwn,
  render: renderMrkdwn,
  size: sizeOf,
} = defineDialect({ max: maxTextChars, unit: 'utf16', marks, maxLinkedChars: maxLinkedUrlChars })

/** The sections of a message with blocks. */
export const renderSections = ({ text, spans }: MessageChunk): readonly string[] =>
  splitEncoded({ text, spans: [...spans] }, { max: maxSectionChars, size: sizeOf }).map(encodeMrkdwn)

type Decoded = { readonly text: string; readonly mentions: readonly string[] }

const reference = /<([^<>]{1,3000})>/g

/** Reads the text of an event. Mentions of the bot at the beginning are left out: they only address it. */
export function decodeMrkdwn(source: string, bot: string | undefined): Decoded {
  const mentions: string[] = []
  const text = source.replace(reference, (_whole, inner: string) => {
    const [target = '', label] = splitOnce(inner, '|')
    if (target.startsWith('@')) mentions.push(target.slice(1))
    return decodeReference(target, label)
  })
  const addressed = bot === undefined ? text : stripLeadingMention(text, `@${bot}`)
  return { text: unescape(addressed), mentions }
}

function decodeReference(target: string, label: string | undefined): string {
  switch (target[0]) {
    case '@':
      return `@${label ?? target.slice(1)}`
    case '#':
      return `#${label ?? target.slice(1)}`
    case '!':
      return label ?? `@${splitOnce(target.slice(1), '^')[0]}`
    default:
      return label === undefined || label === target ? target.replace(/^mailto:/, '') : `${label} (${target})`
  }
}

function splitOnce(text: string, at: string): readonly [string, string?] {
  const index = text.indexOf(at)
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)]
}

function stripLeadingMention(text: string, mention: string): string {
  const trimmed = text.trimStart()
  if (!trimmed.startsWith(mention)) return text
  const rest = trimmed.slice(mention.length)
  return /^\w/.test(rest) ? text : rest.replace(/^[\s,:]{1,20}/, '')
}

const unescape = (text: string): string => text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
