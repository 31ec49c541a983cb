/**
 * Shortening the context because a person asks for it. In an open turn it is a wish that the loop fulfils before its
 * next model call; between turns it is done here, by the same summary and the same commit.
 */

import { requestCompression } from '../../agent/loop/intake.ts'
import type { Message } from '../../agent/model/message.ts'
import type { Limits } from '../../agent/model/settings.ts'
import type { Summary } from '../../agent/model/turn.ts'
import { createSummaryMessage } from '../../agent/prompt/compression.ts'
import { estimateMessageTokens } from '../../agent/prompt/estimate-tokens.ts'
import type { Session } from './session.ts'
import { protectedMessages, summarise, type Summarised } from '../turn/summarise.ts'
import { clock } from '../platform/clock.ts'

export type CompressResult =
  | { readonly is: 'asked' | 'nothing' | 'busy' }
  | { readonly is: 'over'; readonly limit: keyof Limits }
  | { readonly is: 'done'; readonly before: number; readonly after: number }

/** Shorter conversations have nothing to shorten. */
const least = 4

export async function compressNow(core: Session, focus: string | undefined): Promise<CompressResult> {
  await core.ensureTenant()
  const { store } = core
  const turn = store.current()
  if (!turn) return { is: 'nothing' }
  if (store.hasOpenTurn) {
    store.save(requestCompression(turn, focus === undefined ? {} : { focus }))
    store.write()
    core.turns.resumeIfUndriven()
    return { is: 'asked' }
  }
  const limit = core.billing.reachedLimit(turn, clock.now())
  if (limit !== undefined) return { is: 'over', limit }
  const transcript = store.transcript()
  const { length } = transcript
  if (length < least) return { is: 'nothing' }
  const before = store.contextTokens()
  const summary = await summarise(transcript, { focus, keepLast: protectedMessages(core.settings) }, core.side)
  // The session is gone: its name may be another one's by now.
  if (!core.exists) return { is: 'nothing' }
  // Somebody said something meanwhile, or was faster.
  const isSame = core.store === store && store.transcript() === transcript && transcript.length === length
  if (store.hasOpenTurn || !isSame) return { is: 'busy' }
  if (!isWorthIt(transcript, summary)) return { is: 'nothing' }
  store.save({ turn: store.turn(), summary })
  store.write()
  core.later(core.turns.project())
  return { is: 'done', before, after: store.contextTokens() }
}

/** Of a few short words the summary is longer than they are. */
function isWorthIt(transcript: readonly Message[], summary: Summarised): summary is Extract<Summarised, Summary> {
  if (summary.of !== 'summary') return false
  const { text, replaces } = summary
  const replaced = transcript.slice(0, replaces).reduce((sum, message) => sum + estimateMessageTokens(message), 0)
  return estimateMessageTokens(createSummaryMessage(transcript, replaces, text)) < replaced
}
