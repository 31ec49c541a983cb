/**
 * Defines the frames of ConversationRelay, which are the same at Twilio and Telnyx: the carrier turns speech into text and
 * text into speech.
 */

import { parseJson } from '#agent/core/parse-json.ts'
import { pick, pickText } from '../kit/pick.ts'

export type RelayFrame =
  | { readonly kind: 'setup'; readonly callSid: string; readonly from: string }
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
      return { kind: 'setup', callSid: get('callSid'), from: get('from') }
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

/** Earlier frames are guesses that the last one replaces. */
const parsePrompt = (text: string, last: unknown): RelayFrame =>
  text && last !== false ? { kind: 'prompt', text } : { kind: 'ignored' }

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
