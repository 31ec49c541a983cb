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
import { isVirtualModel } from '#durable/models/model-routes.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { resolveRequestedModel } from '../routes/v1/models.ts'
import { replaceOpenAiName } from './openai-names.ts'
import { parameterFields, parseModelParameters } from './model-parameters.ts'
import { readThinkingSwitch, thinkingFields } from './thinking-switch.ts'
import { refuseUnsupported, unsupportedSchema } from './unsupported-fields.ts'

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
