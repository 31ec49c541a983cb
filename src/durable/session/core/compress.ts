/**
 * Compacts the context on request. In an open turn the loop does it before its next model call; between turns this file
 * does it, with the same summary and the same commit.
 */

import { requestCompression } from '#agent/loop/turn-changes.ts'
import type { Turn } from '#agent/core/turn.ts'
import type { Limits } from '#agent/core/settings.ts'
import { failureReasons } from '#agent/core/failure.ts'
import { resetCompression } from '#agent/policy/compress-context.ts'
import type { SummariseResult } from '#durable/turn/compression/summarise.ts'
import type { Session } from '../session.ts'

export type CompressResult =
  | { readonly kind: 'requested' | 'nothing' | 'busy' }
  | { readonly kind: 'limit-reached'; readonly limit: keyof Limits }
  /** Nothing was removed. `reason`: why the summary could not be requested. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'done'; readonly before: number; readonly after: number }

/** Shorter conversations are not compacted. */
const minMessages = 4

/** `keepTurns`: exactly these last turns stay; only while no turn is open. */
export async function compressNow(
  session: Session,
  focus: string | undefined,
  keepTurns?: number,
): Promise<CompressResult> {
  await session.ensureTenant()
  const { store } = session
  const turn = store.current()
  if (!turn) return { kind: 'nothing' }
  if (store.hasOpenTurn) return keepTurns === undefined ? requestInTurn(session, turn, focus) : { kind: 'busy' }
  const limit = session.billing.reachedLimit(turn)
  if (limit !== undefined) return { kind: 'limit-reached', limit }
  const transcript = store.transcript()
  const { length } = transcript
  if (length < minMessages) return { kind: 'nothing' }
  const before = store.contextTokens()
  const result = await session.summariser.summarise(turn, focus, keepTurns)
  // The session was deleted during the wait; its name may belong to a new one.
  if (!session.exists) return { kind: 'nothing' }
  // A message may have arrived, or another compression may have finished, during the wait.
  const isSame = session.store === store && store.transcript() === transcript && transcript.length === length
  if (store.hasOpenTurn || !isSame) return { kind: 'busy' }
  if (result.of !== 'summary') return describeMissing(result)
  store.save({ turn: resetCompression(store.turn()), summary: result.summary })
  store.write()
  session.runInBackground(session.turns.project())
  return { kind: 'done', before, after: store.contextTokens() }
}

function requestInTurn({ store, turns }: Session, turn: Turn, focus: string | undefined): CompressResult {
  store.save(requestCompression(turn, focus === undefined ? {} : { focus }))
  store.write()
  turns.resumeIfUndriven()
  return { kind: 'requested' }
}

type MissingSummary = Exclude<SummariseResult, { readonly of: 'summary' }>

const describeMissing = (result: MissingSummary): CompressResult =>
  result.of === 'nothing' ? { kind: 'nothing' } : { kind: 'failed', reason: failureReasons[result.failure.kind] }
