/**
 * Serves the names of OpenAI's models that clients have built in by the default model, as `talaria` is: their users never
 * chose them. A name with a provider is what somebody chose.
 */

import { sourcesFor } from '#durable/models/catalog.ts'
import { listModelIds } from '#durable/models/model-routes.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError } from '../errors.ts'

const openAiName = /^(?:gpt-|o\d|chatgpt-|codex)[^/]*$/

type NamedModel = { readonly model?: string | undefined; readonly provider?: string | null | undefined }

/** Throws where only the demo could answer: nobody expects rules behind the name of a model. */
export function replaceOpenAiName<Body extends NamedModel>(body: Body, env: Env, tenant: TenantSnapshot): Body {
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
