/** Starts a video for a session. The alarm follows its job, and a message brings the result. */

import type { MediaCall, VideoAnswer, VideoOrder } from '#agent/core/media/media.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import { videoVendors } from '#backends/media/video.ts'
import { startVideo } from '#durable/models/media/make-video.ts'
import { clock } from '#durable/platform/clock.ts'
import { callKey, endPurchase, lostCall, openBill } from './buy-once.ts'
import { loadPicture } from './load-picture.ts'
import { type MediaHost, requireMedia, createTransport } from './media-host.ts'
import { renderStem } from './store-media.ts'

const firstPollMs = 15_000

export async function beginVideo(host: MediaHost, order: VideoOrder, call: MediaCall): Promise<VideoAnswer> {
  try {
    return await begin(host, order, call)
  } catch (error) {
    if (error instanceof MediaFailure) return { kind: 'refused', error: error.message, reason: error.kind }
    throw error
  }
}

async function begin(
  host: MediaHost,
  order: VideoOrder,
  { callId, signal, authority: by }: MediaCall,
): Promise<VideoAnswer> {
  const id = callKey(host, callId)
  const known = host.rows.get(id)
  if (known?.queuedId !== undefined) return { kind: 'started', workId: known.queuedId, model: known.model }
  if (known) throw lostCall()
  const choice = requireMedia(host, 'video')
  const { provider, model: name } = choice
  const possible: readonly number[] = videoVendors[provider].seconds
  const seconds = possible.find((length) => length >= order.seconds) ?? possible.at(-1) ?? 0
  const image = order.image === undefined ? undefined : await loadPicture(host, order.image, signal)
  const bill = await openBill(host, { id, use: 'video', choice, units: seconds, stem: '' })
  const model = `${provider}/${name}`
  host.rows.put({ id, state: 'sent', model, tries: 0 })
  try {
    const { prompt, aspect } = order
    const queuedId = await startVideo(createTransport(host, signal), choice, { prompt, aspect, seconds, image })
    const startedAt = clock.now()
    const late = { provider, name, startedAt, stem: renderStem(prompt, 'video'), by }
    host.rows.put({ id, state: 'queued', model, tries: 0, queuedId, late, nextAt: startedAt + firstPollMs })
    bill.pay()
    host.arm()
    return { kind: 'started', workId: queuedId, model }
  } catch (error) {
    return endPurchase(host, id, { error, bill })
  }
}
