/** Starts a video, which takes minutes. Its result comes as a message of its own. */

import * as z from 'zod'
import { mediaAvailability } from '#agent/routing/media-providers.ts'
import { defineTool } from '../define-tool.ts'
import { assessSpending } from './assess-spending.ts'
import { renderMedia } from './media-result.ts'

const input = z.strictObject({
  prompt: z.string().min(1).max(32_000),
  aspect_ratio: z.enum(['landscape', 'portrait']).default('landscape'),
  duration: z.int().min(1).max(12).default(4).describe('Seconds.'),
  image_url: z.string().min(1).max(4_000).optional().describe('The first picture: an address or a workspace path.'),
})

export default defineTool({
  name: 'video_generate',
  toolset: 'video_gen',
  description:
    'Start a video from a description. It takes minutes and costs much; a message brings the result later. Do not wait or start it twice.',
  input,
  needs: ['media', 'backend'],
  effect: 'keyed',
  risk: () => 'spend',
  assess: ({ prompt, image_url: image }, { backend }) =>
    assessSpending(prompt, image === undefined ? [] : [image], backend),
  touches: () => 'nothing',
  availability: mediaAvailability('video'),
  run: async ({ prompt, aspect_ratio: aspect, duration: seconds, image_url: image }, context) => {
    const { media, callId, signal, authority } = context
    return renderMedia(await media.startVideo({ prompt, aspect, seconds, image }, { callId, signal, authority }))
  },
})
