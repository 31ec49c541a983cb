/** Answers `/v1/images/edits` as OpenAI does, by a provider that edits. */

import * as z from 'zod'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import type { ImageInput } from '#backends/media/images.ts'
import { AppError, invalid } from '../errors.ts'
import { validate } from '../input/body.ts'
import { readForm } from '../input/form.ts'
import { answerOnce, identifyForm } from './answer-once.ts'
import { createImages } from './create-images.ts'
import { mediaLimit } from './media-limit.ts'
import type { PaidRequest } from './paid-call.ts'
import { requireChoice } from './paid-request.ts'

const maxImages = 16
const readable = /^image\/(?:png|jpeg|webp)$/

const fields = z.strictObject({
  prompt: z.string().min(1).max(32_000),
  model: z.string().max(300).optional(),
  n: z.coerce.number().int().min(1).max(10).optional(),
  size: z.string().max(20).optional(),
  quality: z.string().max(20).optional(),
  background: z.string().max(20).optional(),
  output_format: z.enum(['png', 'jpeg', 'webp']).optional(),
  output_compression: z.coerce.number().int().min(0).max(100).optional(),
  input_fidelity: z.enum(['high', 'low']).optional(),
  response_format: z.literal('b64_json', 'Images are sent as b64_json.').optional(),
  stream: z.literal('false', 'Images are not streamed here.').optional(),
  partial_images: z.literal('0', 'Images are not streamed here.').optional(),
  safety_identifier: z.string().max(500).optional(),
  user: z.string().max(500).optional(),
})

const imageNames: ReadonlySet<string> = new Set(['image', 'image[]'])

export async function editImages(call: PaidRequest): Promise<Response> {
  const form = await readForm(call.web.req.raw, 'image', mediaLimit)
  return answerOnce({ ...call, bodyText: await identifyForm(form) }, () => editForm(call, form))
}

async function editForm(call: PaidRequest, form: FormData): Promise<Response> {
  const texts = [...form].filter(([, value]) => typeof value === 'string' && value !== '')
  const body = validate(fields, Object.fromEntries(texts))
  const choice = requireChoice(call, 'image', body.model)
  if (choice.provider === 'workers-ai')
    throw new AppError(501, 'not_configured', `${explainBinding} Set OPENAI_API_KEY, GEMINI_API_KEY or FAL_API_KEY.`, {
      param: 'model',
    })
  const files = [...form].flatMap(([name, value]) => (value instanceof File ? [{ name, file: value }] : []))
  const unknown = files.find(({ name }) => name !== 'mask' && !imageNames.has(name))
  if (unknown) throw invalid(`Unknown field: ${unknown.name.slice(0, 100)}.`, unknown.name.slice(0, 100))
  const mask = files.find(({ name }) => name === 'mask')
  if (mask && choice.provider !== 'openai')
    throw new AppError(400, 'unsupported', `${choice.provider} takes no mask. Describe the part to change.`, {
      param: 'mask',
    })
  const images = files.filter(({ name }) => imageNames.has(name))
  if (!images.length) throw invalid('image is missing.', 'image')
  if (images.length > maxImages) throw invalid(`image: at most ${maxImages} images.`, 'image')
  return createImages(call, body, {
    images: await Promise.all(images.map(readImage)),
    ...(mask && { mask: await readImage(mask) }),
  })
}

const explainBinding = 'Workers AI cannot edit images here.'

type NamedFile = { readonly name: string; readonly file: File }

/** The bytes decide the type, whatever the client calls the file. */
async function readImage({ name, file }: NamedFile): Promise<ImageInput> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  const mime = detectMediaType(bytes)?.mime ?? ''
  if (!readable.test(mime)) throw invalid(`${name} is no PNG, JPEG or WebP image.`, name)
  return { mime, bytes }
}
