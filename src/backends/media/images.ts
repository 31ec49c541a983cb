/** Makes requests for images, and reads the images in the answers: OpenAI, Gemini, FAL, xAI, OpenRouter, DeepInfra, Workers AI. */

import * as z from 'zod'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { createGeminiRequest, parseGemini } from './gemini.ts'
import {
  bearer,
  type BindingCall,
  decodeMedia,
  jsonRequest,
  MediaFailure,
  type MediaSource,
  parseAnswer,
  type MediaAccess,
  type MediaRequest,
} from './vendor.ts'

const aspects = ['landscape', 'square', 'portrait'] as const
export type Aspect = (typeof aspects)[number]

export type ImageInput = { readonly mime: string; readonly bytes: Uint8Array<ArrayBuffer> }

export type ImageRequest = {
  readonly model: string
  readonly prompt: string
  readonly aspect?: Aspect | undefined
  /** Images that are edited, or that the new one resembles. */
  readonly images?: readonly ImageInput[] | undefined
  /** The part of the first image that is changed. Only OpenAI takes one. */
  readonly mask?: ImageInput | undefined
  readonly count?: number | undefined
  /** As OpenAI writes them. Other vendors ignore them. */
  readonly openai?: Readonly<Record<string, string | number>> | undefined
}

export type ImageVendor = {
  readonly createRequest: (request: ImageRequest, access: MediaAccess) => MediaRequest
  readonly parse: (answer: unknown) => readonly MediaSource[]
}

const openaiSizes: Readonly<Record<Aspect, string>> = {
  landscape: '1536x1024',
  square: '1024x1024',
  portrait: '1024x1536',
}

/** The size that OpenAI is asked for, which its price depends on. */
export const sizeOfAspect = (aspect: Aspect): string => openaiSizes[aspect]

const openaiImage = z
  .object({ b64_json: z.string().min(1).optional(), url: z.url().optional() })
  .refine(({ b64_json: data, url }) => data !== undefined || url !== undefined)
const openaiAnswer = z.object({ data: z.array(openaiImage).min(1) })

const toBytes = (vendor: string, data: string): MediaSource => ({ kind: 'bytes', bytes: decodeMedia(vendor, data) })
const toAddress = (url: string): MediaSource => ({ kind: 'address', url })

const toFile = ({ mime, bytes }: ImageInput, name: string): File =>
  new File([bytes], `${name}.${mime.split('/')[1]}`, { type: mime })

/** The answers of OpenAI and of those who answer as it does. */
const parseOpenai =
  (vendor: string) =>
  (answer: unknown): readonly MediaSource[] =>
    parseAnswer(vendor, openaiAnswer, answer).data.map(({ b64_json: data, url = '' }) =>
      data === undefined ? toAddress(url) : toBytes(vendor, data),
    )

const openai: ImageVendor = {
  createRequest(request, { baseUrl, key }) {
    const { model, prompt, images = [], mask, count } = request
    const fields: Record<string, string | number> = {
      model,
      prompt,
      ...(request.aspect && { size: openaiSizes[request.aspect] }),
      ...(count !== undefined && { n: count }),
      ...request.openai,
    }
    if (!images.length) return jsonRequest(`${baseUrl}/images/generations`, fields, bearer(key))
    const body = new FormData()
    for (const [name, value] of Object.entries(fields)) body.set(name, String(value))
    images.forEach((input, at) => body.append('image[]', toFile(input, `image-${at + 1}`)))
    if (mask) body.set('mask', toFile(mask, 'mask'))
    return { url: `${baseUrl}/images/edits`, method: 'POST', headers: bearer(key), body }
  },
  parse: parseOpenai('OpenAI'),
}

/** Vendors with OpenAI's route for new images, and another one or none for edits. */
const openaiLike = (vendor: string, shapeOf: (aspect: Aspect) => object): ImageVendor => ({
  createRequest({ model, prompt, aspect, images = [], count = 1 }, { baseUrl, key }) {
    if (images.length) throw new MediaFailure('refused', `${vendor} cannot edit images here.`)
    const body = { model, prompt, n: count, response_format: 'b64_json', ...(aspect && shapeOf(aspect)) }
    return jsonRequest(`${baseUrl}/images/generations`, body, bearer(key))
  },
  parse: parseOpenai(vendor),
})

const geminiAspects: Readonly<Record<Aspect, string>> = { landscape: '16:9', square: '1:1', portrait: '9:16' }

const gemini: ImageVendor = {
  createRequest({ model, prompt, aspect, images = [] }, access) {
    const inputs = images.map(({ mime, bytes }) => ({
      inlineData: { mimeType: mime, data: encodeBase64Bytes(bytes) },
    }))
    const generationConfig = {
      responseModalities: ['TEXT', 'IMAGE'],
      ...(aspect && { imageConfig: { aspectRatio: geminiAspects[aspect] } }),
    }
    return createGeminiRequest({ model, parts: [{ text: prompt }, ...inputs], generationConfig }, access)
  },
  parse(answer) {
    const { data, said } = parseGemini(answer)
    if (data.length) return data.map((one) => toBytes('Gemini', one.data))
    throw new MediaFailure('refused', `Gemini made no image. ${said}`.trim())
  },
}

const falSizes: Readonly<Record<Aspect, string>> = {
  landscape: 'landscape_16_9',
  square: 'square_hd',
  portrait: 'portrait_16_9',
}

const falAnswer = z.object({ images: z.array(z.looseObject({ url: z.string() })).min(1) })
const dataAddress = /^data:[\w.+/-]{1,80};base64,/
const toSource = (vendor: string, url: string): MediaSource =>
  dataAddress.test(url) ? toBytes(vendor, url.slice(url.indexOf(',') + 1)) : toAddress(url)

const fal: ImageVendor = {
  createRequest({ model, prompt, aspect, images = [], count }, { baseUrl, key }) {
    const urls = images.map(({ mime, bytes }) => `data:${mime};base64,${encodeBase64Bytes(bytes)}`)
    const body = {
      prompt,
      ...(aspect && { image_size: falSizes[aspect] }),
      ...(count !== undefined && { num_images: count }),
      ...(urls.length && { image_url: urls[0], image_urls: urls }),
    }
    return jsonRequest(`${baseUrl}/${model}`, body, { authorization: `Key ${key}` })
  },
  parse: (answer) => parseAnswer('FAL', falAnswer, answer).images.map(({ url }) => toSource('FAL', url)),
}

const openrouterAnswer = z.object({
  choices: z
    .array(
      z.looseObject({
        message: z.looseObject({
          content: z.string().nullish(),
          images: z.array(z.looseObject({ image_url: z.object({ url: z.string() }) })).optional(),
        }),
      }),
    )
    .min(1),
})

/** Images are a modality of its chat completions. */
const openrouter: ImageVendor = {
  createRequest({ model, prompt, aspect, images = [] }, { baseUrl, key }) {
    const inputs = images.map(({ mime, bytes }) => ({
      type: 'image_url',
      image_url: { url: `data:${mime};base64,${encodeBase64Bytes(bytes)}` },
    }))
    const body = {
      model,
      messages: [{ role: 'user', content: [{ type: 'text', text: prompt }, ...inputs] }],
      modalities: ['image', 'text'],
      ...(aspect && { image_config: { aspect_ratio: geminiAspects[aspect] } }),
    }
    return jsonRequest(`${baseUrl}/chat/completions`, body, bearer(key))
  },
  parse(answer) {
    const { choices } = parseAnswer('OpenRouter', openrouterAnswer, answer)
    const [said = ''] = choices.flatMap(({ message }) => message.content ?? [])
    const urls = choices.flatMap(({ message }) => (message.images ?? []).map((one) => one.image_url.url))
    if (urls.length) return urls.map((url) => toSource('OpenRouter', url))
    throw new MediaFailure('refused', `OpenRouter made no image. ${said.slice(0, 300)}`.trim())
  },
}

export const imageVendors = {
  openai,
  gemini,
  fal,
  xai: openaiLike('xAI', (aspect) => ({ aspect_ratio: geminiAspects[aspect] })),
  openrouter,
  deepinfra: openaiLike('DeepInfra', (aspect) => ({ size: openaiSizes[aspect] })),
} as const satisfies Readonly<Record<string, ImageVendor>>

const pixels: Readonly<Record<Aspect, readonly [width: number, height: number]>> = {
  landscape: [1_344, 768],
  square: [1_024, 1_024],
  portrait: [768, 1_344],
}

/** Flux schnell makes squares only. */
const schnell = /flux-1-schnell$/

export function createImageBindingCall({ model, prompt, aspect = 'square' }: ImageRequest): BindingCall {
  const [width, height] = pixels[aspect]
  return { model, input: schnell.test(model) ? { prompt, steps: 4 } : { prompt, width, height } }
}

const bindingAnswer = z.object({ image: z.string().min(1) })

/** The JSON answer of a binding. Models that stream bytes need no parser. */
export const parseImageBinding = (answer: unknown): MediaSource =>
  toBytes('Workers AI', parseAnswer('Workers AI', bindingAnswer, answer).image)
