/**
 * Compacts the context on request. In an open turn the loop does it before its next model call; between turns this file
 * does it, with the same summary and the same commit.
 */

import { narrowTurn, requestCompression } from '#agent/loop/turn-changes.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Limits } from '#agent/core/settings.ts'
import { failureReasons } from '#agent/core/failure.ts'
import { resetCompression } from '#agent/policy/compress-context.ts'
import type { SummariseResult } from '#durable/turn/compression/summarise.ts'
import { recordContribution } from './contributions.ts'
import type { Session } from '../session.ts'

export type CompressResult =
  | { readonly kind: 'requested' | 'nothing' | 'busy' }
  | { readonly kind: 'limit-reached'; readonly limit: keyof Limits }
  /** Nothing was removed. `reason`: why the summary could not be requested. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'done'; readonly before: number; readonly after: number }

/** Shorter conversations are not compacted. */
const minMessages = 4

/** `focus`: what the summary must keep, so its author contributes. `keepTurns`: exactly these last turns stay; only while no turn is open. */
export type CompressionOrder = {
  readonly by: Authority
  readonly focus?: string | undefined
  readonly keepTurns?: number
}

export async function compressNow(
  session: Session,
  { by, focus, keepTurns }: CompressionOrder,
): Promise<CompressResult> {
  await session.ensureTenant()
  const { store } = session
  const turn = store.current()
  if (!turn) return { kind: 'nothing' }
  if (store.hasOpenTurn) return keepTurns === undefined ? requestInTurn(session, by, focus) : { kind: 'busy' }
  const limit = session.billing.reachedLimit(turn)
  if (limit !== undefined) return { kind: 'limit-reached', limit }
  const transcript = store.transcript()
  const { length } = transcript
  if (length < minMessages) return { kind: 'nothing' }
  const before = store.contextTokens()
  recordFocus(session, { by, focus })
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

const recordFocus = (session: Session, { by, focus }: CompressionOrder): void => {
  if (focus !== undefined) recordContribution(session, by)
}

function requestInTurn({ store, turns }: Session, by: Authority, focus: string | undefined): CompressResult {
  const open = store.turn()
  const turn = focus === undefined ? open : narrowTurn(open, by)
  store.save(requestCompression(turn, focus === undefined ? {} : { focus }))
  store.write()
  turns.resumeIfUndriven()
  return { kind: 'requested' }
}

type MissingSummary = Exclude<SummariseResult, { readonly of: 'summary' }>

const describeMissing = (result: MissingSummary): CompressResult =>
  result.of === 'nothing' ? { kind: 'nothing' } : { kind: 'failed', reason: failureReasons[result.failure.kind] }
