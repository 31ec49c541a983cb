/** Calls the embeddings route of a provider that speaks OpenAI's API. The official SDK sends requests and parses errors. */

import * as z from 'zod'
import type { SendRequest } from '#agent/core/dialect.ts'
import { sendOption } from '../shared/send-option.ts'
import type { OpenAI } from 'openai'

export type EmbeddingRequest = {
  readonly model: string
  readonly input: string | readonly string[] | readonly number[] | readonly (readonly number[])[]
  readonly dimensions?: number | undefined
}

const answerShape = z.object({
  data: z.array(z.object({ index: z.int().optional(), embedding: z.array(z.number()) })).max(10_000),
  usage: z.looseObject({ prompt_tokens: z.int().min(0).optional(), cost: z.number().min(0).optional() }).nullish(),
})

export type Embeddings = {
  readonly vectors: readonly (readonly number[])[]
  /** As the provider reports it. */
  readonly tokens: number | undefined
  /** USD, where the provider reports it. */
  readonly cost: number | undefined
}

/** Asks for numbers, which every server sends; other encodings are made from them. */
export async function fetchEmbeddings(
  request: EmbeddingRequest,
  client: Pick<OpenAI, 'post'>,
  { signal, send }: { readonly signal: AbortSignal; readonly send?: SendRequest | undefined },
): Promise<Embeddings> {
  const answer = await client.post('/embeddings', { body: request, signal, ...sendOption(send) })
  const { data, usage } = answerShape.parse(answer)
  const ordered = data.toSorted((one, other) => (one.index ?? 0) - (other.index ?? 0))
  return { vectors: ordered.map(({ embedding }) => embedding), tokens: usage?.prompt_tokens, cost: usage?.cost }
}
