/** Speaks the answer of a run for a chat. What is no prose is left out. */

import { systemAuthority } from '#agent/core/permission/authority.ts'
import { parseMarkdown } from '#channels/text/parse-markdown.ts'
import { withDeadline } from '#durable/platform/timeout.ts'
import { createSpeech } from './create-media.ts'
import type { MediaHost } from './media-host.ts'

/** About five minutes. A longer answer is spoken up to here. */
const maxSpokenChars = 4_000
const speechTimeoutMs = 120_000

/** The same call after a crash finds what was paid. Undefined: nothing was made. */
export async function speakAnswer(host: MediaHost, markdown: string, run: string): Promise<string | undefined> {
  const text = renderSpoken(markdown)
  if (!text) return undefined
  const authority = systemAuthority(host.tenantId, { kind: 'session', id: host.sessionId })
  const answer = await withDeadline(speechTimeoutMs, (signal) =>
    // Ids of runs are unique: the step of the session may have gone on.
    createSpeech({ ...host, step: () => 0 }, { text }, { callId: `answer ${run}`, signal, authority }),
  )
  return answer.kind === 'made' ? answer.files[0]?.path : undefined
}

/** Returns the text without marks, code blocks and addresses. */
export function renderSpoken(markdown: string): string {
  const { text, spans } = parseMarkdown(markdown)
  const blocks = spans.filter(({ type }) => type === 'pre')
  const prose = blocks.reduceRight(
    (rest, { offset, length }) => rest.slice(0, offset) + rest.slice(offset + length),
    text,
  )
  const words = prose
    .replace(/https?:\/\/\S{1,2000}/g, '')
    .replace(/[ \t]+/g, ' ')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  if (words.length <= maxSpokenChars) return words
  const cut = words.slice(0, maxSpokenChars)
  const end = Math.max(cut.lastIndexOf('. '), cut.lastIndexOf('\n'))
  return end > maxSpokenChars / 2 ? cut.slice(0, end + 1).trim() : cut.toWellFormed()
}
