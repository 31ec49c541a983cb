/** Asks a model that sees video about one. The answer is paid once. */

import type { MediaCall, VideoAnalysis, VideoQuestion } from '#agent/core/media/media.ts'
import { analysisVendors, estimateVideoSeconds } from '#backends/media/analysis.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import { askVendor, readJson } from '#durable/models/media/vendor-transport.ts'
import { callKey } from './buy-once.ts'
import { buyText } from './buy-text.ts'
import { loadVideo } from './load-picture.ts'
import { createTransport, type MediaHost, requireMedia } from './media-host.ts'

/** A model reads about an hour. */
const maxSeconds = 3_600

export async function analyzeVideo(
  host: MediaHost,
  { source, question }: VideoQuestion,
  { callId, signal }: MediaCall,
): Promise<VideoAnalysis> {
  try {
    const choice = requireMedia(host, 'analysis')
    const text = await buyText(host, {
      id: callKey(host, callId),
      prepare: async () => {
        const video = await loadVideo(host, source, signal)
        const seconds = estimateVideoSeconds(video.bytes)
        if (seconds > maxSeconds) throw new MediaFailure('refused', 'The video is longer than an hour.')
        const vendor = analysisVendors[choice.provider]
        const request = { ...video, model: choice.model, question }
        const options = { vendor: choice.provider }
        const ask = async () =>
          vendor.parse(
            await readJson(
              choice.provider,
              await askVendor(
                createTransport(host, signal),
                choice,
                (access) => vendor.createRequest(request, access),
                options,
              ),
            ),
          )
        return { offer: { use: 'analysis', choice, units: Math.max(seconds, 1) / 60, stem: '' }, ask }
      },
    })
    return { kind: 'answered', text, model: `${choice.provider}/${choice.model}` }
  } catch (error) {
    if (!(error instanceof MediaFailure)) throw error
    return { kind: 'refused', error: error.message, reason: error.kind }
  }
}
