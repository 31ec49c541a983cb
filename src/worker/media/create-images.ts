/** Answers `/v1/images/generations` as OpenAI does, with base64, and makes the images of edits. */

import { requireAction } from '../input/require-action.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { log } from '#agent/core/log.ts'
import { type MediaChoice, priceImage } from '#agent/routing/media-vendors.ts'
import type { ImageRequest } from '#backends/media/images.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import { makeImages } from '#durable/models/media/make-image.ts'
import type { MadeFile, MediaTransport } from '#durable/models/media/vendor-transport.ts'
import type { PaidRequest } from './paid-call.ts'
import { payFor, requireChoice } from './paid-request.ts'

export type ImagesBody = {
  readonly prompt: string
  readonly model?: string | null | undefined
  readonly n?: number | null | undefined
  readonly size?: string | null | undefined
  readonly quality?: string | null | undefined
  readonly background?: string | null | undefined
  readonly output_format?: string | null | undefined
  readonly output_compression?: number | null | undefined
  readonly moderation?: string | null | undefined
  readonly input_fidelity?: string | undefined
}

/** The images that are edited. */
export type EditedImages = Pick<ImageRequest, 'images' | 'mask'>

export async function createImages(call: PaidRequest, body: ImagesBody, edited: EditedImages = {}): Promise<Response> {
  await requireAction(call, { tool: 'image_generate', input: { prompt: body.prompt }, isOrdered: true }, 'model')
  const chosen = requireChoice(call, 'image', body.model ?? undefined)
  const { usd, maxUsd } = priceImage(chosen, body)
  const choice = { ...chosen, usd }
  const count = body.n ?? 1
  const { images } = await payFor(call, {
    use: 'image',
    choice,
    maxUsd,
    units: count,
    work: (transport) => make(transport, choice, { body, count, edited }),
    unitsOf: ({ units }) => units,
  })
  const data = images.map(({ bytes }) => ({ b64_json: encodeBase64Bytes(bytes) }))
  const [first] = images
  return Response.json({
    created: Math.floor(Date.now() / 1_000),
    data,
    ...(first && { output_format: first.extension === 'jpg' ? 'jpeg' : first.extension }),
  })
}

type ImagesRequest = { readonly body: ImagesBody; readonly count: number; readonly edited: EditedImages }

/** `units`: the images that were paid. */
type MadeImages = { readonly images: readonly MadeFile[]; readonly units: number }

async function make(
  transport: MediaTransport,
  choice: MediaChoice<'image'>,
  { body, count, edited }: ImagesRequest,
): Promise<MadeImages> {
  const request = { ...toRequest(choice, body), ...edited }
  if (choice.provider !== 'openai' && choice.provider !== 'fal')
    return makeOneByOne(() => makeImages(transport, choice, { request }), count)
  const images = await makeImages(transport, choice, { request: { ...request, ...(count > 1 && { count }) } })
  return { images, units: images.length }
}

/** For vendors that make one image a call. The images before a failure are paid, so they are returned without the rest. */
async function makeOneByOne(makeNext: () => Promise<readonly MadeFile[]>, count: number): Promise<MadeImages> {
  const images: MadeFile[] = []
  try {
    for (let n = 0; n < count; n++) images.push(...(await makeNext()))
    return { images, units: images.length }
  } catch (error) {
    if (!images.length || !(error instanceof MediaFailure)) throw error
    log.warn('media.incomplete', 'Only some of the images were made.', { error, made: images.length, count })
    return { images, units: images.length + (error.kind === 'unknown' || error.kind === 'unreadable' ? 1 : 0) }
  }
}

const openaiFields = [
  'size',
  'quality',
  'background',
  'output_format',
  'output_compression',
  'moderation',
  'input_fidelity',
] as const

function toRequest({ provider }: MediaChoice<'image'>, body: ImagesBody): Omit<ImageRequest, 'model'> {
  const { prompt } = body
  if (provider !== 'openai') return { prompt, aspect: parseAspect(body.size ?? '') }
  const given = openaiFields.flatMap((name) => {
    const value = body[name]
    return value == null ? [] : [[name, value] as const]
  })
  return { prompt, openai: Object.fromEntries(given) }
}

function parseAspect(size: string): NonNullable<ImageRequest['aspect']> {
  const [, width = 1, height = 1] = (/^(\d{1,5})x(\d{1,5})$/.exec(size) ?? []).map(Number)
  if (width === height) return 'square'
  return width > height ? 'landscape' : 'portrait'
}
