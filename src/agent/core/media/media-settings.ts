/** Defines the settings of images, speech, transcriptions, video and the analysis of video. */

import * as z from 'zod'

/** A deployment that has used the first of them keeps it: later ones follow. */
export const imageProviders = ['openai', 'gemini', 'fal', 'workers-ai', 'xai', 'openrouter', 'deepinfra'] as const
export const speechProviders = [
  'openai',
  'elevenlabs',
  'gemini',
  'workers-ai',
  'mistral',
  'xai',
  'minimax',
  'deepinfra',
] as const
export type SpeechProvider = (typeof speechProviders)[number]
export const transcriptionProviders = [
  'openai',
  'groq',
  'deepgram',
  'workers-ai',
  'mistral',
  'xai',
  'deepinfra',
] as const
export const videoProviders = ['openai', 'fal'] as const
export const analysisProviders = ['gemini', 'openrouter'] as const

/** Part of an address at some vendors. */
const mediaModel = z.string().regex(/^[@\w][\w.:@/-]{0,199}$/, 'A name as the vendor writes it.')
const noDots = (name: string) => !/(?:^|\/)\.{1,2}(?:\/|$)|\/\//.test(name)
const model = mediaModel.refine(noDots, 'A name as the vendor writes it.').optional().describe('Default: by provider.')
const byKeys = 'Default: the first one that has a key.'

export const mediaSettings = {
  image: z
    .strictObject({ provider: z.enum(imageProviders).optional().describe(byKeys), model })
    .optional()
    .describe('Who makes images.'),
  tts: z
    .strictObject({
      provider: z.enum(speechProviders).optional().describe(byKeys),
      model,
      voice: z.string().min(1).max(100).optional().describe('A voice of the provider.'),
    })
    .optional()
    .describe('Who speaks.'),
  stt: z
    .strictObject({ provider: z.enum(transcriptionProviders).optional().describe(byKeys), model })
    .optional()
    .describe('Who writes down what is said.'),
  video: z
    .strictObject({ provider: z.enum(videoProviders).optional().describe(byKeys), model })
    .optional()
    .describe('Who makes video.'),
  video_analysis: z
    .strictObject({ provider: z.enum(analysisProviders).optional().describe(byKeys), model })
    .optional()
    .describe('Who looks at video.'),
} as const
