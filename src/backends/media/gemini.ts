/** Writes requests for `generateContent` of Gemini, and reads the parts of its answers. */

import * as z from 'zod'
import { jsonRequest, parseAnswer, type MediaAccess, type MediaRequest } from './vendor.ts'

type GeminiCall = {
  readonly model: string
  readonly parts: readonly Readonly<Record<string, unknown>>[]
  readonly generationConfig: Readonly<Record<string, unknown>>
}

export const createGeminiRequest = (
  { model, parts, generationConfig }: GeminiCall,
  { baseUrl, key }: MediaAccess,
): MediaRequest =>
  jsonRequest(
    `${baseUrl}/models/${model}:generateContent`,
    { contents: [{ role: 'user', parts }], generationConfig },
    { 'x-goog-api-key': key },
  )

const part = z.looseObject({
  inlineData: z.object({ data: z.string(), mimeType: z.string().optional() }).optional(),
  text: z.string().optional(),
})
const answerShape = z.object({
  candidates: z.array(z.looseObject({ content: z.looseObject({ parts: z.array(part) }).optional() })).min(1),
})
type InlineData = { readonly data: string; readonly mimeType?: string | undefined }

type GeminiMedia = { readonly data: readonly InlineData[]; readonly text: string; readonly said: string }

/** `said`: the beginning of the text, which explains why an answer has no data. */
export function parseGemini(answer: unknown): GeminiMedia {
  const { candidates } = parseAnswer('Gemini', answerShape, answer)
  const parts = candidates.flatMap(({ content }) => content?.parts ?? [])
  const text = parts.map((one) => one.text ?? '').join(' ')
  return { data: parts.flatMap(({ inlineData }) => inlineData ?? []), text, said: text.slice(0, 300) }
}
