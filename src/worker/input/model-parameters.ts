/** Parses the parameters of model calls that clients of OpenAI's API and of compatible servers send. */

import * as z from 'zod'
import type { ModelParameters } from '#agent/core/request/model-parameters.ts'

const penalty = z.number().min(-2).max(2).nullish()
const share = z.number().min(0).max(1).nullish()
const stopText = z.string().max(500)

export const parameterFields = {
  top_p: share,
  stop: z.union([stopText, z.array(stopText).max(16)]).nullish(),
  seed: z.int().nullish(),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  logit_bias: z.record(z.string().max(20), z.number().min(-100).max(100)).nullish(),
  verbosity: z.enum(['low', 'medium', 'high']).nullish(),
  service_tier: z.string().max(40).nullish(),
  user: z.string().max(512).nullish().describe('Old name of `safety_identifier`.'),
  safety_identifier: z
    .string()
    .max(512)
    .nullish()
    .describe('Identifies the person, for the abuse detection of the provider.'),
  top_k: z.int().min(0).nullish(),
  top_a: share,
  min_p: share,
  typical_p: share,
  repetition_penalty: z.number().min(0).max(10).nullish(),
  repeat_penalty: z.number().min(0).max(10).nullish().describe('Same as `repetition_penalty`.'),
}

const parametersSchema = z.object(parameterFields)
type Fields = z.infer<typeof parametersSchema>

/** Returns undefined when the body has none. */
export function parseModelParameters(body: Fields): ModelParameters | undefined {
  const stop = [body.stop ?? []].flat().filter((text) => text !== '')
  const found: { readonly [Name in keyof ModelParameters]-?: ModelParameters[Name] | null | undefined } = {
    topP: body.top_p,
    stop: stop.length ? stop : undefined,
    seed: body.seed,
    presencePenalty: body.presence_penalty,
    frequencyPenalty: body.frequency_penalty,
    logitBias: body.logit_bias,
    verbosity: body.verbosity,
    serviceTier: body.service_tier,
    user: body.safety_identifier ?? body.user,
    topK: body.top_k,
    topA: body.top_a,
    minP: body.min_p,
    typicalP: body.typical_p,
    repetitionPenalty: body.repetition_penalty ?? body.repeat_penalty,
  }
  const entries = Object.entries(found).filter(([, value]) => value !== undefined && value !== null)
  return entries.length ? (Object.fromEntries(entries) as ModelParameters) : undefined
}
