/** Asks a model for a summary of the older messages. Without an answer, an excerpt of them replaces the summary. */

import type { Failure } from '../../agent/model/failure.ts'
import { type Message, userText } from '../../agent/model/message.ts'
import type { Settings } from '../../agent/model/settings.ts'
import type { Summary } from '../../agent/model/turn.ts'
import { renderTranscript, renderExcerpt, findTailStart, renderSummaryRequest } from '../../agent/prompt/compression.ts'
import type { SideCall } from '../models/side-call.ts'

export type SummariseResult =
  | ({ readonly of: 'summary' } & Summary)
  | { readonly of: 'failure'; readonly failure: Failure }
  | { readonly of: 'nothing' }

export const protectedMessages = ({ compression }: Settings): number | undefined => compression?.protect_last_n

/** `keepLast`: the number of last messages that stay as they are. */
export type SummaryOptions = { readonly focus?: string | undefined; readonly keepLast?: number | undefined }

/** Never rejects for a failure of a model. `nothing`: all messages are protected. */
export async function summarise(
  transcript: readonly Message[],
  { focus, keepLast }: SummaryOptions,
  side: SideCall,
): Promise<SummariseResult> {
  const replaces = findTailStart(transcript, keepLast)
  const older = transcript.slice(0, replaces)
  if (!older.length) return { of: 'nothing' }
  const request = {
    system: renderSummaryRequest(focus),
    transcript: (room: number) => [userText(renderTranscript(older, room))],
  }
  const answer = await side('compression', request)
  if (answer.kind === 'answered') return { of: 'summary', text: answer.text, replaces }
  if (answer.failure.kind === 'aborted') return { of: 'failure', failure: answer.failure }
  return { of: 'summary', text: renderExcerpt(older), replaces }
}
