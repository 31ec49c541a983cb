/**
 * Parses the model and sampling options of one request. A missing option falls back to the session, then to the
 * tenant's settings, then to the deployment.
 */

import * as z from 'zod'
import type { TurnOptions } from '../agent/model/turn-options.ts'
import { findProvider } from '../agent/routing/availability.ts'
import { chooseModel } from '../agent/routing/default-model.ts'
import { sourcesFor } from '../durable/models/catalog.ts'
import { isVirtualModel } from '../durable/models/model-routes.ts'
import type { TenantSnapshot } from '../durable/tenant/tenant-snapshot.ts'
import { resolveRequestedModel } from './routes/models.ts'

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
}

const turnOptionSchema = z.object(turnOptionFields)
type TurnOptionFields = z.infer<typeof turnOptionSchema>

export function parseTurnOptions(body: TurnOptionFields, env: Env, tenant: TenantSnapshot): TurnOptions {
  const model = resolveRequestedModel(
    resolveModelName(body, env, tenant),
    env,
    tenant,
    body.provider ? 'provider' : 'model',
  )
  const options = body.model_options
  const temperatureValue = body.temperature ?? options?.temperature
  const maxTokensValue = body.max_tokens ?? options?.max_tokens
  const reasoning = body.reasoning_effort ?? options?.reasoning_effort
  return {
    ...(model !== undefined && { model }),
    ...(temperatureValue != null && { temperature: temperatureValue }),
    ...(maxTokensValue != null && { maxTokens: maxTokensValue }),
    ...(reasoning != null && { reasoningEffort: reasoning }),
  }
}

/** A provider without a model means its default model, else a known one. */
function resolveModelName({ model, provider }: TurnOptionFields, env: Env, tenant: TenantSnapshot): string | undefined {
  if (!provider || model?.startsWith(`${provider}/`)) return model
  if (!isVirtualModel(model)) return `${provider}/${model}`
  const found = findProvider(provider, tenant.settings)
  return `${provider}/${(found && chooseModel(found, sourcesFor(env, tenant))) ?? ''}`
}
