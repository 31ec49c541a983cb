/**
 * Parses the model and sampling options of one request. A missing option falls back to the session, then to the
 * tenant's settings, then to the deployment.
 */

import * as z from 'zod'
import { omitUndefined } from '#agent/providers/catalog/json-values.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { findProvider } from '#agent/routing/availability.ts'
import { chooseModel } from '#agent/routing/default-model.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { isVirtualModel, listModelIds } from '#durable/models/model-routes.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { resolveRequestedModel } from './requested-model.ts'
import { refuseUnsupported, unsupportedSchema } from './unsupported-fields.ts'
import { AppError } from '../errors.ts'
import type { ModelParameters } from '#agent/core/request/model-parameters.ts'

const penalty = z.number().min(-2).max(2).nullish()
const share = z.number().min(0).max(1).nullish()
const stopText = z.string().max(500)

/** Parses the parameters of model calls that clients of OpenAI's API and of compatible servers send. */
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
type ParameterFields = z.infer<typeof parametersSchema>

/** Returns undefined when the body has none. */
function parseModelParameters(body: ParameterFields): ModelParameters | undefined {
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

const flag = z.boolean().nullish()

/** Reads the switches by which compatible servers turn the reasoning of a model off. */
export const thinkingFields = {
  thinking: z
    .union([z.boolean(), z.looseObject({ type: z.string().max(20).nullish() })])
    .nullish()
    .describe('`{"type": "disabled"}` or false: same as `reasoning_effort: "none"`.'),
  think: z
    .union([z.boolean(), z.string().max(20)])
    .nullish()
    .describe('false: same as `reasoning_effort: "none"`.'),
  enable_thinking: flag.describe('false: same as `reasoning_effort: "none"`.'),
  chat_template_kwargs: z.looseObject({ enable_thinking: flag, thinking: flag }).nullish(),
}

const switchesSchema = z.object(thinkingFields)

/** Returns the effort that the switches name; undefined when they leave it to the model. */
function readThinkingSwitch(body: z.infer<typeof switchesSchema>): string | undefined {
  const { thinking, think, enable_thinking: enabled, chat_template_kwargs: template } = body
  if (typeof think === 'string') return think
  const type = typeof thinking === 'object' ? thinking?.type : undefined
  const switches = [thinking, think, enabled, template?.enable_thinking, template?.thinking]
  return switches.includes(false) || type === 'disabled' ? 'none' : undefined
}

const temperature = z.number().min(0).max(2).nullish()
const maxTokens = z.int().min(1).nullish()
const effort = z.string().max(20).nullish()

/** Fields of all chat routes. A field of `model_options` may also be sent at the top level, which wins. */
export const turnOptionFields = {
  model: z.string().max(300).optional().describe('provider/model, or the name of a model beside `provider`.'),
  provider: z.string().max(64).nullish(),
  model_options: z.strictObject({ temperature, max_tokens: maxTokens, reasoning_effort: effort }).nullish(),
  temperature,
  max_tokens: maxTokens,
  reasoning_effort: effort,
  ...parameterFields,
  ...thinkingFields,
  ...unsupportedSchema,
}

/** On `/v1` a longer wait for a provider is an error with `Retry-After`, because these clients cannot tell it from silence. */
export const maxPauseMs = 30_000

const turnOptionSchema = z.object(turnOptionFields)
type TurnOptionFields = z.infer<typeof turnOptionSchema>

/** `openAiNames`: names of OpenAI's models that no provider here is asked for mean the default model. */
export function parseTurnOptions(
  given: TurnOptionFields,
  env: Env,
  tenant: TenantSnapshot,
  { openAiNames = false }: { readonly openAiNames?: boolean } = {},
): TurnOptions {
  const body = openAiNames ? replaceOpenAiName(given, env, tenant) : given
  refuseUnsupported(body)
  const model = resolveRequestedModel(
    resolveModelName(body, env, tenant),
    env,
    tenant,
    body.provider ? 'provider' : 'model',
  )
  const options = body.model_options ?? {}
  return omitUndefined<TurnOptions>({
    model,
    temperature: body.temperature ?? options.temperature ?? undefined,
    maxTokens: body.max_tokens ?? options.max_tokens ?? undefined,
    reasoningEffort: resolveEffort(body),
    parameters: parseModelParameters(body),
  })
}

const resolveEffort = (body: TurnOptionFields): string | undefined =>
  body.reasoning_effort ?? body.model_options?.reasoning_effort ?? readThinkingSwitch(body)

/** A provider without a model means its default model, else a known one. */
function resolveModelName({ model, provider }: TurnOptionFields, env: Env, tenant: TenantSnapshot): string | undefined {
  if (!provider || model?.startsWith(`${provider}/`)) return model
  if (!isVirtualModel(model)) return `${provider}/${model}`
  const found = findProvider(provider, tenant.settings)
  return `${provider}/${(found && chooseModel(found, sourcesFor(env, tenant))) ?? ''}`
}

// Serves the names of OpenAI's models that clients have built in by the default model, as `talaria` is: their users
// never chose them. A name with a provider is what somebody chose.

const openAiName = /^(?:gpt-|o\d|chatgpt-|codex)[^/]*$/

type NamedModel = { readonly model?: string | undefined; readonly provider?: string | null | undefined }

/** Throws where only the demo could answer: nobody expects rules behind the name of a model. */
function replaceOpenAiName<Body extends NamedModel>(body: Body, env: Env, tenant: TenantSnapshot): Body {
  const { model, provider } = body
  if (model === undefined || provider || !openAiName.test(model)) return body
  const [name] = listModelIds(undefined, sourcesFor(env, tenant))
  if (name?.startsWith('demo/')) throw demoOnly(model)
  return { ...body, model: undefined }
}

const demoOnly = (model: string) =>
  new AppError(
    404,
    'model_not_found',
    `The model ${model.slice(0, 200)} is not available here, and only the demo would answer for it. Use talaria to ask the demo, or set MODEL or the key of a provider.`,
    { param: 'model' },
  )
