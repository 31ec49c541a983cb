/** `/v1/audio/…` and `/v1/images/…`: speech, transcriptions and images by the configured providers. */

import * as z from 'zod'
import { AppError } from '../../errors.ts'
import { idempotencyKeyHeader } from '../../headers.ts'
import { route } from '../../route.ts'
import { ok } from '../../shapes.ts'

const tag = 'OpenAI'

const speechBody = z.strictObject({
  model: z.string().max(300).describe('A model of the provider, a name of `openai`, or provider/model.'),
  input: z.string().min(1).max(50_000),
  voice: z.union([z.string().max(100), z.strictObject({ id: z.string().max(100) })]).nullish(),
  response_format: z.enum(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']).nullish(),
  speed: z.number().min(0.25).max(4).nullish(),
  instructions: z.string().max(4_096).nullish(),
  stream_format: z.enum(['audio', 'sse']).nullish().describe('Only audio.'),
})

const imagesBody = z.strictObject({
  prompt: z.string().min(1).max(32_000),
  model: z.string().max(300).nullish(),
  n: z.int().min(1).max(10).nullish(),
  size: z.string().max(20).nullish(),
  quality: z.string().max(20).nullish(),
  background: z.string().max(20).nullish(),
  output_format: z.enum(['png', 'jpeg', 'webp']).nullish(),
  output_compression: z.int().min(0).max(100).nullish(),
  moderation: z.enum(['low', 'auto']).nullish(),
  response_format: z.enum(['b64_json', 'url']).nullish().describe('Only b64_json.'),
  stream: z.boolean().nullish().describe('Only false.'),
  partial_images: z.int().min(0).max(3).nullish().describe('Only 0: images are not streamed.'),
  style: z.enum(['vivid', 'natural']).nullish().describe('Ignored: only retired models have it.'),
  safety_identifier: z.string().max(500).nullish().describe('Ignored.'),
  user: z.string().max(500).nullish(),
})

const imagesShape = z.object({
  created: z.int().describe('Seconds since 1970.'),
  data: z.array(z.object({ b64_json: z.string() })),
  output_format: z.string().optional(),
})

const transcriptionShape = z.object({
  text: z.string(),
  usage: z.object({ type: z.literal('duration'), seconds: z.number() }).optional(),
})

export const mediaRoutes = [
  route({
    method: 'post',
    path: '/v1/audio/transcriptions',
    id: 'createTranscription',
    scope: 'chat',
    tag,
    summary: 'Text of a sound file (multipart/form-data with `file`, `model`, `language`, `prompt`, `response_format`)',
    bytes: true,
    headers: [idempotencyKeyHeader],
    responses: ok('The text', transcriptionShape),
    handle: async (call) => (await import('../../media/create-transcription.ts')).createTranscription(call),
  }),
  route({
    method: 'post',
    path: '/v1/audio/speech',
    id: 'createSpeech',
    scope: 'chat',
    tag,
    summary: 'Speech of a text, by a configured provider',
    example: { model: 'gpt-4o-mini-tts', voice: 'alloy', input: 'The tide is high.' },
    body: speechBody,
    headers: [idempotencyKeyHeader],
    responses: { 200: { description: 'The sound', type: 'audio/mpeg' } },
    handle: async (call) => {
      if (call.body.stream_format === 'sse')
        throw new AppError(400, 'unsupported', 'Speech is sent as one file.', { param: 'stream_format' })
      const { createSpeech } = await import('../../media/create-speech.ts')
      return (await import('../../media/answer-once.ts')).answerOnce(call, () => createSpeech(call, call.body))
    },
  }),
  route({
    method: 'post',
    path: '/v1/images/generations',
    id: 'createImage',
    scope: 'chat',
    tag,
    summary: 'Images of a description, by a configured provider',
    example: { prompt: 'A lighthouse at dusk' },
    body: imagesBody,
    headers: [idempotencyKeyHeader],
    responses: ok('The images', imagesShape),
    handle: async (call) => {
      const { response_format: format, stream, partial_images: partial } = call.body
      if (format === 'url')
        throw new AppError(400, 'unsupported', 'Images are sent as b64_json.', { param: 'response_format' })
      if (stream || partial)
        throw new AppError(400, 'unsupported', 'Images are not streamed here.', {
          param: stream ? 'stream' : 'partial_images',
        })
      const { createImages } = await import('../../media/create-images.ts')
      return (await import('../../media/answer-once.ts')).answerOnce(call, () => createImages(call, call.body))
    },
  }),
  route({
    method: 'post',
    path: '/v1/images/edits',
    id: 'createImageEdit',
    scope: 'chat',
    tag,
    summary: 'Images made of images and a description, by a configured provider that edits',
    bytes: true,
    headers: [idempotencyKeyHeader],
    responses: ok('The images', imagesShape),
    handle: async (call) => (await import('../../media/edit-images.ts')).editImages(call),
  }),
]
