/** Makes requests for video, and follows the jobs: OpenAI, and FAL by its queue. */

import * as z from 'zod'
import type { Aspect, ImageInput } from './images.ts'
import { createResultRequest, createStatusRequest, isQueueDone, parseQueued } from './queue.ts'
import {
  bearer,
  jsonRequest,
  MediaFailure,
  type MediaSource,
  parseAnswer,
  type MediaAccess,
  type MediaRequest,
} from './vendor.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'

export type VideoRequest = {
  readonly model: string
  readonly prompt: string
  readonly seconds: number
  readonly aspect: Exclude<Aspect, 'square'>
  /** The first picture. */
  readonly image?: ImageInput | undefined
}

export type VideoJob = { readonly model: string; readonly id: string }

export type VideoVendor = {
  /** The lengths that it makes. */
  readonly seconds: readonly number[]
  readonly createRequest: (request: VideoRequest, access: MediaAccess) => MediaRequest
  readonly parseStarted: (answer: unknown) => string
  readonly createStatusRequest: (job: VideoJob, access: MediaAccess) => MediaRequest
  /** Throws for a job that has failed. */
  readonly isDone: (answer: unknown) => boolean
  /** OpenAI answers with the bytes, FAL with an address. */
  readonly createResultRequest: (job: VideoJob, access: MediaAccess) => MediaRequest
  readonly parseResult?: (answer: unknown) => MediaSource
}

const openaiSizes = { landscape: '1280x720', portrait: '720x1280' } as const
const openaiJob = z.looseObject({
  id: z.string().regex(/^[\w-]{1,200}$/),
  status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
  error: z.looseObject({ message: z.string() }).nullish(),
})

const openai: VideoVendor = {
  seconds: [4, 8, 12],
  createRequest({ model, prompt, seconds, aspect, image }, { baseUrl, key }) {
    const body = new FormData()
    const fields = { model, prompt, seconds: String(seconds), size: openaiSizes[aspect] }
    for (const [name, value] of Object.entries(fields)) body.set(name, value)
    if (image) body.set('input_reference', new File([image.bytes], 'first.png', { type: image.mime }))
    return { url: `${baseUrl}/videos`, method: 'POST', headers: bearer(key), body }
  },
  parseStarted: (answer) => parseAnswer('OpenAI', openaiJob, answer).id,
  createStatusRequest: ({ id }, { baseUrl, key }) => ({
    url: `${baseUrl}/videos/${id}`,
    method: 'GET',
    headers: bearer(key),
  }),
  isDone(answer) {
    const { status, error } = parseAnswer('OpenAI', openaiJob, answer)
    if (status === 'failed') throw new MediaFailure('refused', `OpenAI: ${error?.message.slice(0, 300) ?? 'it failed'}`)
    return status === 'completed'
  },
  createResultRequest: ({ id }, { baseUrl, key }) => ({
    url: `${baseUrl}/videos/${id}/content`,
    method: 'GET',
    headers: bearer(key),
  }),
}

const falAnswer = z.object({ video: z.looseObject({ url: z.string() }) })

const fal: VideoVendor = {
  seconds: [5, 10],
  createRequest({ model, prompt, seconds, aspect, image }, { baseUrl, key }) {
    const body = {
      prompt,
      duration: String(seconds),
      aspect_ratio: aspect === 'portrait' ? '9:16' : '16:9',
      ...(image && { image_url: `data:${image.mime};base64,${encodeBase64Bytes(image.bytes)}` }),
    }
    return jsonRequest(`${baseUrl}/${model}`, body, { authorization: `Key ${key}` })
  },
  parseStarted: parseQueued,
  createStatusRequest: ({ model, id }, access) => createStatusRequest(model, id, access),
  isDone: isQueueDone,
  createResultRequest: ({ model, id }, access) => createResultRequest(model, id, access),
  parseResult: (answer) => ({ kind: 'address', url: parseAnswer('FAL', falAnswer, answer).video.url }),
}

export const videoVendors = { openai, fal } as const satisfies Readonly<Record<string, VideoVendor>>
