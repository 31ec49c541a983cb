/**
 * What one request may wish of its turn: the model, and how it is asked. What it does not say falls to
 * the session, then to the tenant's settings, then to the deployment.
 */

import * as z from 'zod'
import type { TurnOptions } from '../agent/model/turn-options.ts'
import { findProvider } from '../agent/routing/availability.ts'
import { isVirtualModel } from '../durable/models/model-routes.ts'
import type { TenantSnapshot } from '../durable/tenant/tenant-snapshot.ts'
import { askedModel } from './routes/models.ts'

const temperature = z.number().min(0).max(2).nullish()
const maxTokens = z.int().min(1).nullish()
const effort = z.string().max(20).nullish()

/** Fields of both ways to chat. The three of `model_options` may also stand on their own, and win there. */
export const wishFields = {
  model: z.string().max(300).optional().describe('provider/model, or the name of a model beside `provider`.'),
  provider: z.string().max(64).nullish(),
  model_options: z.strictObject({ temperature, max_tokens: maxTokens, reasoning_effort: effort }).nullish(),
  temperature,
  max_tokens: maxTokens,
  reasoning_effort: effort,
}

const wishes = z.object(wishFields)
type Wishes = z.infer<typeof wishes>

export function wishesOf(body: Wishes, env: Env, tenant: TenantSnapshot): TurnOptions {
  const model = askedModel(modelOf(body, tenant), env, tenant, body.provider ? 'provider' : 'model')
  const options = body.model_options
  const warmth = body.temperature ?? options?.temperature
  const most = body.max_tokens ?? options?.max_tokens
  const reasoning = body.reasoning_effort ?? options?.reasoning_effort
  return {
    ...(model !== undefined && { model }),
    ...(warmth != null && { temperature: warmth }),
    ...(most != null && { maxTokens: most }),
    ...(reasoning != null && { reasoningEffort: reasoning }),
  }
}

/** A provider alone means the model it is known for. */
function modelOf({ model, provider }: Wishes, { settings }: TenantSnapshot): string | undefined {
  if (!provider || model?.startsWith(`${provider}/`)) return model
  const name = isVirtualModel(model) ? findProvider(provider, settings)?.defaultModel : model
  return `${provider}/${name ?? ''}`
}
