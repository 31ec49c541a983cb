/** `/v1/models`: the agent under its own name, and the models it can be asked to think with. */

import * as z from 'zod'
import { providers } from '../../agent/wire/providers.ts'
import { defaultModel, isUsable, type Variables } from '../../agent/wire/route.ts'
import { isVirtual } from '../../durable/routes.ts'
import { routeOf } from '../../agent/wire/route.ts'
import type { TenantSnapshot } from '../../durable/tenant-snapshot.ts'
import { AppError } from '../errors.ts'
import { route } from '../route.ts'
import { ok } from '../shapes.ts'

const model = (id: string, owner: string) => ({ id, object: 'model', created: 0, owned_by: owner })

function usableModels(variables: Variables, { settings }: TenantSnapshot): readonly string[] {
  const ofProviders = providers.flatMap((provider) =>
    provider.defaultModel && isUsable(provider, variables) ? [`${provider.id}/${provider.defaultModel}`] : [],
  )
  const named = [settings.model?.default ?? defaultModel(variables), ...(settings.fallback_providers ?? [])]
  const configured = Object.keys(settings.models ?? {}).filter((id) => routeOf(id, variables))
  return [...new Set([...named, ...ofProviders, ...configured])]
}

/** `undefined` = the default. Unknown providers and those without a key are refused here, by name. */
export function askedModel(id: string | undefined, env: Env, param = 'model'): string | undefined {
  if (isVirtual(id) || id === undefined) return undefined
  if (routeOf(id, env as unknown as Variables)) return id
  throw new AppError(
    404,
    'model_not_found',
    `The model ${id.slice(0, 200)} is not available here. Use talaria, or provider/model of a provider with a key.`,
    { param },
  )
}

const modelShape = z.object({ id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.string() })

export const modelRoutes = [
  route({
    method: 'get',
    path: '/v1/models',
    scope: 'read',
    tag: 'OpenAI',
    summary: 'Models that can be asked for',
    responses: ok('OpenAI list', z.object({ object: z.literal('list'), data: z.array(modelShape) })),
    handle: async ({ env, tenant }) =>
      Response.json({
        object: 'list',
        data: [
          model('talaria', 'talaria'),
          ...usableModels(env as unknown as Variables, tenant).map((id) => model(id, id.split('/')[0] ?? '')),
        ],
      }),
  }),
  route({
    method: 'get',
    path: '/v1/models/:id{.+}',
    scope: 'read',
    tag: 'OpenAI',
    summary: 'One model',
    responses: ok('OpenAI model', modelShape),
    handle: async ({ env, param }) => {
      const id = param('id')
      askedModel(id, env, 'id')
      return Response.json(model(id, id.includes('/') ? (id.split('/')[0] ?? '') : 'talaria'))
    },
  }),
]
