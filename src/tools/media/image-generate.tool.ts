/** Makes or edits an image. It becomes a file of the workspace and an attachment of the answer. */

import * as z from 'zod'
import { mediaAvailability } from '#agent/routing/media-providers.ts'
import { defineTool } from '../define-tool.ts'
import { assessSpending } from './assess-spending.ts'
import { renderMedia } from './media-result.ts'

const maxImages = 8

const input = z.strictObject({
  prompt: z.string().min(1).max(32_000),
  aspect_ratio: z.enum(['landscape', 'square', 'portrait']).default('landscape'),
  image_url: z.string().min(1).max(4_000).optional().describe('An image to edit: an address or a workspace path.'),
  reference_image_urls: z.array(z.string().min(1).max(4_000)).max(maxImages).default([]),
})
type Input = z.infer<typeof input>

const imagesOf = ({ image_url: image, reference_image_urls: more }: Input): readonly string[] =>
  image === undefined ? more : [image, ...more]

export default defineTool({
  name: 'image_generate',
  toolset: 'image_gen',
  description:
    'Make an image from a description, or edit one. It is stored in the workspace and attached to your answer; each call costs money.',
  input,
  needs: ['media', 'backend'],
  effect: 'keyed',
  risk: () => 'spend',
  assess: (order, { backend }) => assessSpending(order.prompt, imagesOf(order), backend),
  touches: () => 'nothing',
  availability: mediaAvailability('image'),
  run: async (order, { media, callId, signal, authority }) => {
    const { prompt, aspect_ratio: aspect } = order
    return renderMedia(
      await media.createImage({ prompt, aspect, images: imagesOf(order) }, { callId, signal, authority }),
    )
  },
})
