/**
 * Compacts the context on request. In an open turn the loop does it before its next model call; between turns this file
 * does it, with the same summary and the same commit.
 */

import { requestCompression } from '../../agent/loop/intake.ts'
import type { Message } from '../../agent/model/message.ts'
import type { Limits } from '../../agent/model/settings.ts'
import type { Summary } from '../../agent/model/turn.ts'
import { createSummaryMessage } from '../../agent/prompt/compression.ts'
import { estimateMessageTokens } from '../../agent/prompt/estimate-tokens.ts'
import type { Session } from './session.ts'
import { protectedMessages, summarise, type SummariseResult } from '../turn/summarise.ts'

export type CompressResult =
  | { readonly kind: 'requested' | 'nothing' | 'busy' }
  | { readonly kind: 'limit-reached'; readonly limit: keyof Limits }
  | { readonly kind: 'done'; readonly before: number; readonly after: number }

/** Shorter conversations are not compacted. */
const minMessages = 4

export async function compressNow(session: Session, focus: string | undefined): Promise<CompressResult> {
  await session.ensureTenant()
  const { store } = session
  const turn = store.current()
  if (!turn) return { kind: 'nothing' }
  if (store.hasOpenTurn) {
    store.save(requestCompression(turn, focus === undefined ? {} : { focus }))
    store.write()
    session.turns.resumeIfUndriven()
    return { kind: 'requested' }
  }
  const limit = session.billing.reachedLimit(turn)
  if (limit !== undefined) return { kind: 'limit-reached', limit }
  const transcript = store.transcript()
  const { length } = transcript
  if (length < minMessages) return { kind: 'nothing' }
  const before = store.contextTokens()
  const summary = await summarise(transcript, { focus, keepLast: protectedMessages(session.settings) }, session.side)
  // The session was deleted during the wait; its name may belong to a new one.
  if (!session.exists) return { kind: 'nothing' }
  // A message may have arrived, or another compression may have finished, during the wait.
  const isSame = session.store === store && store.transcript() === transcript && transcript.length === length
  if (store.hasOpenTurn || !isSame) return { kind: 'busy' }
  if (!isShorter(transcript, summary)) return { kind: 'nothing' }
  store.save({ turn: store.turn(), summary })
  store.write()
  session.runInBackground(session.turns.project())
  return { kind: 'done', before, after: store.contextTokens() }
}

/** The summary of a short conversation can be longer than the conversation. */
function isShorter(
  transcript: readonly Message[],
  summary: SummariseResult,
): summary is Extract<SummariseResult, Summary> {
  if (summary.of !== 'summary') return false
  const { text, replaces } = summary
  const replaced = transcript.slice(0, replaces).reduce((sum, message) => sum + estimateMessageTokens(message), 0)
  return estimateMessageTokens(createSummaryMessage(transcript, replaces, text)) < replaced
}
