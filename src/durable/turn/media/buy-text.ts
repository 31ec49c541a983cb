/** Buys a text about a file once, billed to its session. A text that was paid for is not bought again. */

import { endPurchase, lostCall, type MediaOffer, openBill } from './buy-once.ts'
import type { MediaHost } from './media-host.ts'
import type { MediaRows } from './media-rows.ts'

/** The offer, and the call that it is for. Both are made only when the text is not here. */
export type TextPurchase = {
  readonly id: string
  readonly prepare: () => Promise<{ readonly offer: Omit<MediaOffer, 'id'>; readonly ask: () => Promise<string> }>
}

/** A row without a text is one of a call that runs here, or that an eviction has interrupted. */
const running = new WeakMap<MediaRows, Map<string, Promise<string>>>()

export async function buyText(host: MediaHost, purchase: TextPurchase): Promise<string> {
  const { rows } = host
  const { id } = purchase
  const known = rows.get(id)
  if (known?.text !== undefined) return known.text
  const calls = running.get(rows) ?? new Map<string, Promise<string>>()
  running.set(rows, calls)
  const current = calls.get(id)
  if (current) return current
  if (known) throw lostCall()
  const call = buy(host, purchase).finally(() => calls.delete(id))
  calls.set(id, call)
  return call
}

async function buy(host: MediaHost, { id, prepare }: TextPurchase): Promise<string> {
  const { offer, ask } = await prepare()
  const bill = await openBill(host, { ...offer, id })
  const model = `${offer.choice.provider}/${offer.choice.model}`
  host.rows.put({ id, state: 'sent', model, tries: 0 })
  try {
    const text = await ask()
    bill.pay()
    host.rows.put({ id, state: 'done', model, tries: 0, text })
    return text
  } catch (error) {
    return endPurchase(host, id, { error, bill })
  }
}
