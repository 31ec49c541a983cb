/** Asks for a summary of what is to go; without an answer, its beginning and its end have to do. */

import type { Failure } from '../agent/model/failure.ts'
import { type Message, userText } from '../agent/model/message.ts'
import { asText, excerpt, keepFrom, summaryRequestFor } from '../agent/prompt/compress.ts'
import type { SideAnswer, SideRequest } from './side-task.ts'

export type Summary =
  | { readonly of: 'summary'; readonly text: string }
  | { readonly of: 'failure'; readonly failure: Failure }
  | { readonly of: 'nothing' }

export async function summarise(
  transcript: readonly Message[],
  focus: string | undefined,
  side: (task: 'compression', request: SideRequest) => Promise<SideAnswer>,
): Promise<Summary> {
  const old = transcript.slice(0, keepFrom(transcript))
  if (!old.length) return { of: 'nothing' }
  const request = { system: summaryRequestFor(focus), transcript: (room: number) => [userText(asText(old, room))] }
  const answer = await side('compression', request)
  if (answer.of === 'said') return { of: 'summary', text: answer.text }
  if (answer.failure.kind === 'aborted') return { of: 'failure', failure: answer.failure }
  return { of: 'summary', text: excerpt(old) }
}
