/**
 * Defines the frames of ConversationRelay, which are the same at Twilio and Telnyx: the carrier turns speech into text and
 * text into speech.
 */

import { parseJson } from '#agent/core/parse-json.ts'
import { pick, pickText } from '../kit/pick.ts'

export type RelayFrame =
  /** `person`: who talks with the agent, whoever called. */
  | { readonly kind: 'setup'; readonly callSid: string; readonly person: string }
  | { readonly kind: 'prompt'; readonly text: string }
  | { readonly kind: 'digit'; readonly digit: string }
  /** `heard`: what the person has heard of the answer until they began to speak. */
  | { readonly kind: 'interrupt'; readonly heard: string }
  | { readonly kind: 'ignored' }

export function parseFrame(text: string): RelayFrame {
  const frame = parseJson(text)
  const get = (field: string) => pickText(frame, field) ?? ''
  switch (get('type')) {
    case 'setup':
      return { kind: 'setup', callSid: get('callSid'), person: get(isOurs(get('direction')) ? 'to' : 'from') }
    case 'prompt':
      return parsePrompt(get('voicePrompt').trim(), pick(frame, 'last'))
    case 'dtmf':
      return /^[\d*#]$/.test(get('digit')) ? { kind: 'digit', digit: get('digit') } : { kind: 'ignored' }
    case 'interrupt':
      return { kind: 'interrupt', heard: get('utteranceUntilInterrupt') }
    default:
      return { kind: 'ignored' }
  }
}

const isOurs = (direction: string): boolean => direction.startsWith('outbound')

/** Earlier frames are guesses that the last one replaces. */
const parsePrompt = (text: string, last: unknown): RelayFrame =>
  text && last !== false ? { kind: 'prompt', text } : { kind: 'ignored' }

/** Stands in an answer for keys of the telephone, like `[press 12#]`. */
const keys = /\[press ([\d*#w]{1,40})\]/
const maxKeyChars = 60

/** Returns the frames of a part of an answer, and what must wait for the next part: the beginning of keys. */
export function renderSpeech(
  text: string,
  last: boolean,
): { readonly frames: readonly string[]; readonly rest: string } {
  const frames: string[] = []
  let left = text
  for (let found = keys.exec(left); found; found = keys.exec(left)) {
    if (found.index) frames.push(renderToken(left.slice(0, found.index), false))
    frames.push(JSON.stringify({ type: 'sendDigits', digits: found[1] }))
    left = left.slice(found.index + found[0].length)
  }
  const at = left.lastIndexOf('[')
  const isOpen = !last && at >= 0 && !left.includes(']', at) && left.length - at < maxKeyChars
  const spoken = isOpen ? left.slice(0, at) : left
  if (spoken || last) frames.push(renderToken(spoken, last))
  return { frames, rest: isOpen ? left.slice(at) : '' }
}

/** Marks are not read aloud. */
export const renderToken = (text: string, last: boolean): string =>
  JSON.stringify({ type: 'text', token: text.replace(/[*_`#>|]/g, ''), last })

/**
 * The beginning of an answer that a person has heard. What was spoken has other blanks and marks than the answer, so only
 * letters and digits are compared. The whole answer where it does not contain what was heard.
 */
export function cutAfter(answer: string, heard: string): string {
  const [all, part] = [lettersOf(answer), lettersOf(heard)]
  if (!part.text) return ''
  const at = all.text.lastIndexOf(part.text)
  if (at < 0) return answer
  const end = (all.places[at + part.text.length - 1] ?? 0) + 1
  return answer.slice(0, end) + (/^[.,;:!?…]+/.exec(answer.slice(end, end + 3))?.[0] ?? '')
}

/** `places`: where each unit of the text stands. */
function lettersOf(text: string): { readonly text: string; readonly places: readonly number[] } {
  let out = ''
  const places: number[] = []
  for (const { 0: letter, index } of text.matchAll(/[\p{L}\p{N}]/gu)) {
    const lower = letter.toLowerCase()
    out += lower
    for (let unit = 0; unit < lower.length; unit++) places.push(index + letter.length - 1)
  }
  return { text: out, places }
}
