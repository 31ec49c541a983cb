/**
 * Makes a paid call once: its cost is reserved and a row written before the request leaves, and its bytes are stored in
 * the session in the same stretch in which they arrive. A repetition after a crash finds the row and buys nothing.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import { noUsage, tallyKey, type Usage, usageOfCall } from '#agent/core/usage.ts'
import type { MediaUse } from '#agent/routing/media-providers.ts'
import type { MediaChoice } from '#agent/routing/media-vendors.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import { clock } from '#durable/platform/clock.ts'
import type { MediaHost } from './media-host.ts'
import type { MediaRow } from './media-rows.ts'
import { type KeptRow, type Made, storeKept, type StoredRow } from './store-media.ts'

export type MediaOffer = {
  readonly id: string
  readonly use: MediaUse
  readonly choice: Pick<MediaChoice, 'provider' | 'model' | 'usd'>
  /** The most that one unit can cost. It has to fit into the limits. Absent: as the choice says. */
  readonly maxUsd?: number | undefined
  /** Of what the price is for. */
  readonly units: number
  /** The beginning of the file's name. */
  readonly stem: string
}

/** `by`: the authority of the call. */
export type MediaPurchase = MediaOffer & { readonly by: Authority }

type Buying = { readonly queuedId: string | undefined; readonly onQueued: (id: string) => void }

/** The name of a call. Models use ids of calls again in later steps. */
export const callKey = ({ step }: Pick<MediaHost, 'step'>, callId: string): string => `${step()} ${callId}`

const modelOf = ({ choice }: MediaOffer): string => `${choice.provider}/${choice.model}`

function estimateUsage(offer: MediaOffer): Usage {
  const { choice, units, use } = offer
  const costUsd = (choice.usd ?? 0) * units
  const costStatus = choice.usd === undefined ? 'unknown' : 'estimated'
  return usageOfCall({ ...noUsage, costUsd, costStatus }, tallyKey(modelOf(offer), use))
}

/** A job that its vendor has accepted and not finished. The alarm follows it. */
export type QueuedRow = MediaRow & { readonly queuedId: string }

export async function buyOnce(
  host: MediaHost,
  offer: MediaPurchase,
  buy: (buying: Buying) => Promise<Made>,
): Promise<StoredRow | QueuedRow> {
  const known = host.rows.get(offer.id)
  if (known?.file && known.state !== 'kept') return takeOver(host, { ...known, file: known.file })
  const row = known?.made ? { ...known, made: known.made } : await obtain(host, offer, { known, buy })
  return isKept(row) ? storeKept(host, row) : row
}

const isKept = (row: KeptRow | QueuedRow): row is KeptRow => row.made !== undefined

/** The result of the call has the file, so that no message brings it. */
function takeOver({ rows }: MediaHost, { late, nextAt: _nextAt, ...row }: StoredRow): StoredRow {
  const done = { ...row, state: 'done' } as const
  if (late) rows.put(done)
  return done
}

type Obtaining = { readonly known: MediaRow | undefined; readonly buy: (buying: Buying) => Promise<Made> }

/** Longer than the time limit of a tool: the alarm and a call never follow the same job. */
const handOverMs = 300_000

async function obtain(host: MediaHost, offer: MediaPurchase, { known, buy }: Obtaining): Promise<KeptRow | QueuedRow> {
  if (known && known.queuedId === undefined) throw lostCall()
  const bill = known ? undefined : await openBill(host, offer)
  host.rows.put(known ?? { id: offer.id, state: 'sent', model: modelOf(offer), tries: 0 })
  if (known?.queuedId !== undefined) putQueued(host, offer, known.queuedId)
  try {
    const made = await buy({ queuedId: known?.queuedId, onQueued: (id) => putQueued(host, offer, id) })
    bill?.pay()
    return keep(host, offer, made)
  } catch (error) {
    return endFailed(host, offer.id, { error, bill })
  }
}

function putQueued({ rows, arm }: MediaHost, offer: MediaPurchase, queuedId: string): void {
  const { id, choice, stem, by } = offer
  const startedAt = clock.now()
  const late = { use: 'image', provider: choice.provider, name: choice.model, startedAt, stem, by } as const
  const nextAt = startedAt + handOverMs
  rows.put({ id, state: 'queued', model: modelOf(offer), tries: 0, queuedId, late, nextAt })
  arm()
}

type FailedPurchase = { readonly error: unknown; readonly bill: Bill | undefined }

const kindOf = (error: unknown) => (error instanceof MediaFailure ? error.kind : 'unknown')

/** The vendor has made it, or may have. */
const paidKinds: ReadonlySet<string> = new Set(['unknown', 'unreadable'])

/** Returns a job that goes on without its call. Throws every other failure. */
function endFailed(host: MediaHost, id: string, failed: FailedPurchase): QueuedRow {
  const { error, bill } = failed
  const row = host.rows.get(id)
  if (row?.queuedId === undefined) return endPurchase(host, id, failed)
  const job = { ...row, queuedId: row.queuedId }
  const kind = kindOf(error)
  if (kind === 'refused') bill?.cancel()
  else bill?.pay()
  if (kind === 'unknown' && error instanceof MediaFailure) return job
  // A job that has failed stays known: a repetition of its call starts no other.
  if (kind !== 'unknown') host.rows.put({ id, state: 'done', model: job.model, tries: 0, queuedId: job.queuedId })
  throw error
}

/** Ends a purchase that has no job, and throws its failure. The row of one that may have been paid keeps it from a repetition. */
export function endPurchase({ rows }: MediaHost, id: string, { error, bill }: FailedPurchase): never {
  const kind = kindOf(error)
  if (paidKinds.has(kind)) bill?.pay()
  else bill?.cancel()
  if (kind !== 'unknown') rows.delete(id)
  throw error
}

export const lostCall = (): MediaFailure =>
  new MediaFailure(
    'unknown',
    'This call was sent before the session was interrupted, and its answer is lost. It may have been paid, so it is not sent again by itself.',
  )

/** When the object ends while it stores. */
const storeAgainMs = 60_000

const keep = (host: MediaHost, offer: MediaOffer, made: Made): KeptRow =>
  keepBytes(host, { id: offer.id, model: modelOf(offer), stem: offer.stem }, made)

type Unkept = Pick<MediaRow, 'id' | 'model' | 'late' | 'queuedId'> & { readonly stem: string }

/** Writes the bytes in the stretch in which they have arrived. */
export function keepBytes({ rows, arm }: MediaHost, unkept: Unkept, { bytes, mime, extension }: Made): KeptRow {
  const { id, model, late, queuedId, stem } = unkept
  const row: KeptRow = {
    id,
    state: 'kept',
    model,
    made: { mime, extension, stem },
    nextAt: clock.now() + storeAgainMs,
    tries: 0,
    ...(late && { late }),
    ...(queuedId !== undefined && { queuedId }),
  }
  rows.keep(row, bytes)
  arm()
  return row
}

type Bill = { readonly pay: () => void; readonly cancel: () => void }

/**
 * Reserves the cost and notes it, so that a crash does not lose it. Throws when a limit leaves no room: then nothing is
 * sent.
 */
export async function openBill(host: MediaHost, offer: MediaOffer): Promise<Bill> {
  const billing = host.billing()
  const { choice, units, maxUsd = choice.usd } = offer
  const usd = maxUsd === undefined ? undefined : maxUsd * units
  const reserved = await billing.reserve(host.openTurn(), { model: modelOf(offer), tokens: 0, usd, isFixed: true })
  if (!reserved.ok) throw new MediaFailure('limit', explainRefusal(reserved.failure, modelOf(offer)))
  const usage = estimateUsage(offer)
  const note = { id: billing.notes.nextId(), usage }
  billing.notes.set(note)
  const isInTurn = host.openTurn() !== undefined
  const end = () => {
    reserved.release()
    if (!isInTurn) billing.releaseSideCalls()
  }
  return {
    pay: () => {
      billing.addSideCall(note)
      end()
    },
    cancel: () => {
      billing.notes.delete([note.id])
      end()
    },
  }
}

const explainRefusal = (
  { kind, message }: { readonly kind: string; readonly message: string },
  model: string,
): string =>
  kind === 'unpriced'
    ? `A limit in USD holds, and the price of ${model} is unknown. Nothing was sent. The settings can name another model.`
    : `${message} Nothing was sent.`
