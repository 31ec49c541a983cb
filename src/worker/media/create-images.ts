/** Answers `/v1/images/generations` as OpenAI does, with base64, and makes the images of edits. */

import { encodeBase64Bytes } from '../../agent/model/base64.ts'
import type { MediaChoice } from '../../agent/routing/media-vendors.ts'
import type { ImageRequest } from '../../backends/media/images.ts'
import { makeImages } from '../../durable/models/media/make-image.ts'
import type { MadeFile, MediaTransport } from '../../durable/models/media/vendor-transport.ts'
import { type MediaRequest, payFor, requireChoice } from './paid-request.ts'

export type ImagesBody = {
  readonly prompt: string
  readonly model?: string | null | undefined
  readonly n?: number | null | undefined
  readonly size?: string | null | undefined
  readonly quality?: string | null | undefined
  readonly background?: string | null | undefined
  readonly output_format?: string | null | undefined
  readonly input_fidelity?: string | undefined
}

/** The images that are edited. */
export type EditedImages = Pick<ImageRequest, 'images' | 'mask'>

export async function createImages(call: MediaRequest, body: ImagesBody, edited: EditedImages = {}): Promise<Response> {
  const choice = requireChoice(call, 'image', body.model ?? undefined)
  const count = body.n ?? 1
  const made = await payFor(call, {
    use: 'image',
    choice,
    units: count,
    work: (transport) => make(transport, choice, { body, count, edited }),
    unitsOf: (images) => images.length,
  })
  const data = made.map(({ bytes }) => ({ b64_json: encodeBase64Bytes(bytes) }))
  const [first] = made
  return Response.json({
    created: Math.floor(Date.now() / 1_000),
    data,
    ...(first && { output_format: first.extension === 'jpg' ? 'jpeg' : first.extension }),
  })
}

type Wish = { readonly body: ImagesBody; readonly count: number; readonly edited: EditedImages }

/** Two of the vendors make one image a call. */
async function make(transport: MediaTransport, choice: MediaChoice<'image'>, { body, count, edited }: Wish) {
  const request = { ...toRequest(choice, body), ...edited }
  if (choice.provider === 'openai' || choice.provider === 'fal')
    return makeImages(transport, choice, { request: { ...request, ...(count > 1 && { count }) } })
  const made: MadeFile[] = []
  for (let n = 0; n < count; n++) made.push(...(await makeImages(transport, choice, { request })))
  return made
}

function toRequest(
  { provider }: MediaChoice<'image'>,
  { prompt, size, quality, background, output_format: format, input_fidelity: fidelity }: ImagesBody,
): Omit<ImageRequest, 'model'> {
  if (provider !== 'openai') return { prompt, aspect: aspectOf(size ?? '') }
  return {
    prompt,
    openai: {
      ...(size != null && { size }),
      ...(quality != null && { quality }),
      ...(background != null && { background }),
      ...(format != null && { output_format: format }),
      ...(fidelity !== undefined && { input_fidelity: fidelity }),
    },
  }
}

function aspectOf(size: string): NonNullable<ImageRequest['aspect']> {
  const [, width = 1, height = 1] = (/^(\d{1,5})x(\d{1,5})$/.exec(size) ?? []).map(Number)
  if (width === height) return 'square'
  return width > height ? 'landscape' : 'portrait'
}
