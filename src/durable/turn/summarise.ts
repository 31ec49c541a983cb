/** Asks for a summary of what is to go; without an answer, its beginning and its end have to do. */

import type { Failure } from '../../agent/model/failure.ts'
import { type Message, userText } from '../../agent/model/message.ts'
import type { Settings } from '../../agent/model/settings.ts'
import type { Summary } from '../../agent/model/turn.ts'
import { asText, excerpt, keepFrom, summaryRequestFor } from '../../agent/prompt/compress.ts'
import type { Side } from '../models/side-task.ts'

export type Summarised =
  | ({ readonly of: 'summary' } & Summary)
  | { readonly of: 'failure'; readonly failure: Failure }
  | { readonly of: 'nothing' }

export const protectedMessages = ({ compression }: Settings): number | undefined => compression?.protect_last_n

/** `keep`: messages at the end that stay as they are. */
export type Wanted = { readonly focus?: string | undefined; readonly keep?: number | undefined }

/** Never rejects for what the world does. `nothing`: all of it is protected. */
export async function summarise(
  transcript: readonly Message[],
  { focus, keep }: Wanted,
  side: Side,
): Promise<Summarised> {
  const replaces = keepFrom(transcript, keep)
  const old = transcript.slice(0, replaces)
  if (!old.length) return { of: 'nothing' }
  const request = { system: summaryRequestFor(focus), transcript: (room: number) => [userText(asText(old, room))] }
  const answer = await side('compression', request)
  if (answer.of === 'said') return { of: 'summary', text: answer.text, replaces }
  if (answer.failure.kind === 'aborted') return { of: 'failure', failure: answer.failure }
  return { of: 'summary', text: excerpt(old), replaces }
}
