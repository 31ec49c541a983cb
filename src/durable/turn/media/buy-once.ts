/**
 * Makes a paid call once: its cost is reserved and a row written before the request leaves, and its bytes are stored in
 * the session in the same stretch in which they arrive. A repetition after a crash finds the row and buys nothing.
 */

import { noUsage, tallyKey, type Usage, usageOfCall } from '../../../agent/model/usage.ts'
import type { MediaChoice, MediaUse } from '../../../agent/routing/media-vendors.ts'
import { MediaFailure } from '../../../backends/media/vendor.ts'
import { clock } from '../../platform/clock.ts'
import type { MediaHost } from './media-host.ts'
import type { MediaRow } from './media-rows.ts'
import { type KeptRow, type Made, storeKept, type StoredRow } from './store-media.ts'

export type Offer = {
  readonly id: string
  readonly use: MediaUse
  readonly choice: Pick<MediaChoice, 'provider' | 'model' | 'usd'>
  /** Of what the price is for. */
  readonly units: number
  /** The beginning of the file's name. */
  readonly stem: string
}

type Buying = { readonly queuedId: string | undefined; readonly onQueued: (id: string) => void }

/** The name of a call. Models use ids of calls again in later steps. */
export const callKey = ({ step }: Pick<MediaHost, 'step'>, callId: string): string => `${step()} ${callId}`

const modelOf = ({ choice }: Offer): string => `${choice.provider}/${choice.model}`

function usageOf(offer: Offer): Usage {
  const { choice, units, use } = offer
  const costUsd = (choice.usd ?? 0) * units
  const costStatus = choice.usd === undefined ? 'unknown' : 'estimated'
  return usageOfCall({ ...noUsage, costUsd, costStatus }, tallyKey(modelOf(offer), use))
}

export async function buyOnce(
  host: MediaHost,
  offer: Offer,
  buy: (buying: Buying) => Promise<Made>,
): Promise<StoredRow> {
  const known = host.rows.get(offer.id)
  if (known?.state === 'done' && known.file) return { ...known, file: known.file }
  const kept = known?.made ? { ...known, made: known.made } : await obtain(host, offer, { known, buy })
  return storeKept(host, kept)
}

type Obtaining = { readonly known: MediaRow | undefined; readonly buy: (buying: Buying) => Promise<Made> }

async function obtain(host: MediaHost, offer: Offer, { known, buy }: Obtaining): Promise<KeptRow> {
  if (!known) return payFor(host, offer, buy)
  if (known.queuedId !== undefined)
    return keep(host, offer, await buy({ queuedId: known.queuedId, onQueued: () => undefined }))
  throw lostCall()
}

export const lostCall = (): MediaFailure =>
  new MediaFailure(
    'unknown',
    'This call was sent before the session was interrupted, and its answer is lost. It may have been paid, so it is not sent again by itself.',
  )

/** When the object ends while it stores. */
const storeAgainMs = 60_000

const keep = (host: MediaHost, offer: Offer, made: Made): KeptRow =>
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

async function payFor(host: MediaHost, offer: Offer, buy: Obtaining['buy']): Promise<KeptRow> {
  const { rows } = host
  const bill = await openBill(host, offer)
  const row: MediaRow = { id: offer.id, state: 'sent', model: modelOf(offer), tries: 0 }
  rows.put(row)
  try {
    const made = await buy({
      queuedId: undefined,
      onQueued: (queuedId) => rows.put({ ...row, state: 'queued', queuedId }),
    })
    bill.pay()
    return keep(host, offer, made)
  } catch (error) {
    if (error instanceof MediaFailure && error.kind !== 'unknown') {
      rows.delete(offer.id)
      bill.cancel()
    } else bill.pay()
    throw error
  }
}

type Bill = { readonly pay: () => void; readonly cancel: () => void }

/**
 * Reserves the cost and notes it, so that a crash does not lose it. Throws when a limit leaves no room: then nothing is
 * sent.
 */
export async function openBill(host: MediaHost, offer: Offer): Promise<Bill> {
  const billing = host.billing()
  const { choice, units } = offer
  const usd = choice.usd === undefined ? undefined : choice.usd * units
  const reserved = await billing.reserve(host.openTurn(), { model: modelOf(offer), tokens: 0, usd })
  if (!reserved.ok) throw new MediaFailure('limit', explainRefusal(reserved.failure, modelOf(offer)))
  const usage = usageOf(offer)
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
