/** Implements the channel port for SMS through Twilio. */

import type { MessageChunk } from '#agent/core/delivery.ts'
import type { Channel } from '../channel.ts'
import { parseMarkdown } from '../text/parse-markdown.ts'
import { writeLinkAddresses } from '../text/plain-links.ts'
import { splitEncoded } from '../text/split-encoded.ts'
import { createTwilioChannel, maxTextChars } from './twilio-channel.ts'

// Writes plain text for SMS and counts its segments. A text of the GSM alphabet has 153 characters in each segment of
// a long message; any other character makes it UCS-2 with 67.

/** Many carriers join no more than ten segments. */
const maxSegments = 10
/** Room for a line in front of a message, in UCS-2 units. */
const prefixUnits = 80

const gsm = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
)
/** Characters that take two places of the GSM alphabet. */
const gsmPairs = new Set('^{}\\[~]|€\f')

const isGsm = (text: string): boolean => {
  for (const char of text) if (!gsm.has(char) && !gsmPairs.has(char)) return false
  return true
}

/** The places that a text takes: septets of the GSM alphabet, or units of UCS-2. */
function countUnits(text: string): number {
  let units = 0
  for (const char of text) units += gsmPairs.has(char) ? 2 : 1
  return units
}

export function countSegments(text: string): number {
  if (!isGsm(text)) return text.length <= 70 ? 1 : Math.ceil(text.length / 67)
  const units = countUnits(text)
  return units <= 160 ? 1 : Math.ceil(units / 153)
}

/**
 * The size in GSM places. One that needs UCS-2 counts 153/67 for each unit, so that one limit serves both. A pair that
 * does not fit into a segment moves to the next one; the room in front covers that.
 */
const sizeOf = ({ text }: MessageChunk): number =>
  isGsm(text) ? countUnits(text) : Math.ceil((text.length * 153) / 67)

const maxUnits = 153 * maxSegments - Math.ceil((prefixUnits * 153) / 67)

/** Typographic characters of models and of our own parser, which would more than double the price of a message. */
const replacements: Readonly<Record<string, string>> = {
  '‘': "'",
  '’': "'",
  '‚': "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '–': '-',
  '—': '-',
  '−': '-',
  '…': '...',
  '•': '-',
  '·': '-',
  '☐': '[ ]',
  '☑': '[x]',
  '→': '->',
  '←': '<-',
  '\u00a0': ' ',
  '\u202f': ' ',
  '\u2009': ' ',
}
const replaceable = new RegExp(`[${Object.keys(replacements).join('')}]`, 'g')

export const renderSms = (source: string, format: 'markdown' | 'plain'): readonly MessageChunk[] => {
  const text = format === 'plain' ? source : writeLinkAddresses(parseMarkdown(source, { hasColumns: false })).text
  const simple = format === 'plain' ? text : text.replace(replaceable, (char) => replacements[char] ?? char)
  return splitEncoded({ text: simple, spans: [] }, { max: maxUnits, size: sizeOf })
}

export const sms: Channel = createTwilioChannel({
  platform: 'sms',
  name: 'SMS',
  prefix: '',
  accepts: [''],
  from: {
    shape: /^(\+\d{5,20}|\d{3,8}|MG[A-Za-z0-9]{1,64})$/,
    hint: 'The number that sends, like +15550001111, or the SID of a messaging service.',
  },
  hasSubscriptions: true,
  isRegistered: true,
  capabilities: {},
  textLimit: { max: maxTextChars, unit: 'utf16' },
  render: renderSms,
})
