/** The agent under its own name, the models it can be asked to think with, and why others cannot be asked. */

import * as z from 'zod'
import type { Settings } from '../../agent/model/settings.ts'
import { findProvider, getMissingRequirement } from '../../agent/routing/availability.ts'
import { listModelNames, emptyCatalog } from '../../agent/providers/catalog/model-lookup.ts'
import { minWindow } from '../../agent/providers/catalog/context-window.ts'
import type { KeyHealthById } from '../../agent/routing/key-selection.ts'
import { type Provider, providers } from '../../agent/providers/profiles/providers.ts'
import { type Prices, type Route, resolveRoute, type Sources, splitModelId } from '../../agent/routing/route.ts'
import { sourcesFor } from '../../durable/models/catalog.ts'
import { getHealth } from '../../durable/models/key-pool.ts'
import { mixtureNames, resolveMixture } from '../../durable/models/mixture-of-agents.ts'
import { isVirtualModel, listModelIds } from '../../durable/models/model-routes.ts'
import { effectiveSettings, type TenantSnapshot } from '../../durable/tenant/tenant-snapshot.ts'
import { AppError } from '../errors.ts'
import { type Call, route } from '../route.ts'
import { ok } from '../shapes.ts'

const owned = (id: string, owner: string) => ({ id, object: 'model', created: 0, owned_by: owner })

const sourcesOf = ({ env, tenant, web }: Pick<Call<unknown, unknown>, 'env' | 'tenant' | 'web'>): Sources =>
  sourcesFor(env, tenant, (work) => web.executionCtx.waitUntil(work))

/** Keys that rest are used again soon; those that were revoked never are. */
const isRefused = ({ endpoints }: Route, health: KeyHealthById): boolean =>
  endpoints.every(({ id, key }) => key !== '' && health[id]?.dead)

/** Why nothing of this provider can be asked now. */
function reasonAgainst(provider: Provider, sources: Sources, health: KeyHealthById): string | undefined {
  const missing = getMissingRequirement(provider, sources)
  if (missing) return missing
  const any = resolveRoute(`${provider.id}/any`, sources)
  return any && isRefused(any, health)
    ? 'the provider refuses every key for it; GET /api/credentials tells more of your own'
    : undefined
}

/** What the settings and the deployment name. */
const namedModels = (sources: Sources): readonly string[] => [
  ...listModelIds(undefined, sources),
  ...Object.keys(sources.settings?.models ?? {}),
]

/** What is named, then what providers are known for. */
function usableRoutes(sources: Sources, health: KeyHealthById): readonly Route[] {
  const known = providers.map((provider) => `${provider.id}/${provider.defaultModel}`)
  const routes = [...namedModels(sources), ...known]
    .flatMap((id) => resolveRoute(id, sources) ?? [])
    .filter((one) => !tooSmall(one) && !isRefused(one, health))
  return [...new Map(routes.map((one) => [one.id, one])).values()]
}

function routesBy(name: string, sources: Sources, health: KeyHealthById): readonly Route[] {
  const id = findProvider(name, sources.settings)?.id ?? name
  const listed = listModelNames(sources.catalog ?? emptyCatalog, id).flatMap(
    (model) => resolveRoute(`${id}/${model}`, sources) ?? [],
  )
  const own = usableRoutes(sources, health).filter(({ provider }) => provider === id)
  return [...new Map([...own, ...listed].map((one) => [one.id, one])).values()]
}

/** Mixtures whose aggregator can be asked, under their own names. */
const usableMixtures = (sources: Sources): readonly Route[] =>
  mixtureNames(sources.settings ?? {}).flatMap((id) => {
    const aggregator = resolveRoute(resolveMixture(id, sources.settings)?.aggregator ?? '', sources)
    return aggregator ? [{ ...aggregator, id, provider: 'moa' }] : []
  })

/** Nobody said that it shall be used nevertheless, and it is known, not guessed. */
const tooSmall = ({ contextWindow, source }: Route): boolean =>
  contextWindow < minWindow && source !== 'settings' && source !== 'probe'

/**
 * `undefined` = the default. Unknown providers, those that something is missing for, and models with too small
 * a window are refused here, by name.
 */
export function askedModel(id: string | undefined, env: Env, tenant?: TenantSnapshot, param = 'model') {
  const sources = sourcesFor(env, tenant)
  const asked = isVirtualModel(id) ? undefined : id
  const [name = ''] = listModelIds(resolveMixture(asked, sources.settings)?.aggregator ?? asked, sources)
  const found = resolveRoute(name, sources)
  if (found && tooSmall(found)) throw smallWindow(found, param)
  if (asked !== undefined && !found) throw modelNotFound(name, sources, param)
  return asked
}

/** Providers of the table and of the tenant, then models that somebody names although they cannot be asked. */
function unavailableFor(sources: Sources, health: KeyHealthById) {
  const { settings = {} } = sources
  const own = Object.keys(settings.providers ?? {}).flatMap((name) => findProvider(name, settings) ?? [])
  const closed = [...providers, ...own].flatMap((provider) => {
    const reason = reasonAgainst(provider, sources, health)
    return reason ? [{ provider: provider.id, model: provider.defaultModel || null, reason }] : []
  })
  const aggregators = mixtureNames(settings).flatMap((id) => resolveMixture(id, settings)?.aggregator ?? [])
  const models = [...new Set([...namedModels(sources), ...aggregators])].flatMap((id) => {
    const [name, model] = splitModelId(id)
    const known = resolveRoute(id, sources)
    if (known && tooSmall(known)) return [{ provider: known.provider, model, reason: windowOf(known) }]
    const isKnown = known !== undefined || resolveMixture(id, settings) || findProvider(name, settings)
    return isKnown ? [] : [{ provider: name, model, reason: 'there is no provider of this name' }]
  })
  return [...closed, ...models]
}

function modelNotFound(id: string, sources: Sources, param: string): AppError {
  const provider = findProvider(splitModelId(id)[0], sources.settings)
  const missing = provider && getMissingRequirement(provider, sources)
  return new AppError(
    404,
    'model_not_found',
    `The model ${id.slice(0, 200)} is not available here${missing ? `: ${missing}` : ''}. Use talaria, or provider/model of a provider with a key.`,
    { param },
  )
}

const windowOf = ({ id, contextWindow }: Route) =>
  `${id} has a context window of ${contextWindow} tokens; ${minWindow} are needed. Choose another model, or set models["${id}"].context_window if that is not true.`

const smallWindow = (one: Route, param: string) => new AppError(400, 'unsupported', windowOf(one), { param })

const modelShape = z.object({ id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.string() })

const count = z.int().nullable()
const amount = z.number()
const usableShape = z.object({
  id: z.string(),
  provider: z.string(),
  dialect: z.string(),
  context_window: z.int(),
  max_output: count,
  prices: z
    .object({ input: amount, output: amount, cached_read: amount, cached_write: amount })
    .nullable()
    .describe('USD per million tokens; null: unknown.'),
  abilities: z.record(z.string(), z.boolean().nullable()).describe('null: unknown.'),
  efforts: z.array(z.string()).nullable(),
  prompt_cache: z.enum(['5m', '1h']).nullable().describe('How long marked beginnings of prompts are kept.'),
  knowledge: z.string().nullable(),
  deprecated: z.boolean(),
  source: z.enum(['settings', 'provider', 'models.dev', 'built-in', 'probe']).describe('Who says how large it is.'),
})
const missingShape = z.object({ provider: z.string(), model: z.string().nullable(), reason: z.string() })

/** What is not known is null. */
const nullable = <T>(value: T | undefined): T | null => value ?? null

const described = ({ id, provider, dialect, contextWindow, facts = {}, prices, cache, source = 'probe' }: Route) => ({
  id,
  provider,
  dialect,
  context_window: contextWindow,
  max_output: nullable(facts.maxOutput),
  prices: nullable(prices && publicPrices(prices)),
  abilities: {
    images: nullable(facts.images),
    reasoning: nullable(facts.reasoning),
    tools: nullable(facts.tools),
    caching: nullable(facts.caching),
  },
  efforts: nullable(facts.efforts),
  prompt_cache: nullable(cache),
  knowledge: nullable(facts.knowledge),
  deprecated: facts.deprecated === true,
  source,
})

const publicPrices = ({ input, output, cachedRead, cachedWrite }: Prices) => ({
  input,
  output,
  cached_read: cachedRead,
  cached_write: cachedWrite,
})

export const modelRoutes = [
  route({
    method: 'get',
    path: '/v1/models',
    scope: 'read',
    tag: 'OpenAI',
    summary: 'Models that can be asked for',
    responses: ok('OpenAI list', z.object({ object: z.literal('list'), data: z.array(modelShape) })),
    handle: async (call) =>
      Response.json({
        object: 'list',
        data: [
          owned('talaria', 'talaria'),
          ...usableMixtures(sourcesOf(call)).map(({ id }) => owned(id, 'talaria')),
          ...usableRoutes(sourcesOf(call), getHealth(call.tenant.id)).map(({ id, provider }) => owned(id, provider)),
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
    handle: async ({ env, tenant, param }) => {
      const id = param('id')
      askedModel(id, env, tenant, 'id')
      return Response.json(owned(id, id.includes('/') ? (id.split('/')[0] ?? '') : 'talaria'))
    },
  }),
  route({
    method: 'get',
    path: '/api/settings/models',
    scope: 'read',
    tag: 'Settings',
    summary: 'What is known of the models that can be used, and what is missing for the others',
    query: z.strictObject({
      provider: z.string().max(100).optional().describe('All models that the public catalogs know of this provider.'),
    }),
    responses: ok(
      'Models, the default first, and the providers and named models that cannot be used',
      z.object({ data: z.array(usableShape), unavailable: z.array(missingShape), next_cursor: z.null() }),
    ),
    handle: async (call) => {
      const sources = sourcesOf(call)
      const health = getHealth(call.tenant.id)
      const routes = call.query.provider
        ? routesBy(call.query.provider, sources, health)
        : [...usableRoutes(sources, health), ...usableMixtures(sources)]
      return Response.json({
        data: routes.map(described),
        unavailable: unavailableFor(sources, health),
        next_cursor: null,
      })
    },
  }),
]

/** Settings as they would be: a session's own before the tenant's. */
export const withSettings = (tenant: TenantSnapshot, settings: Settings | undefined): TenantSnapshot =>
  settings ? { ...tenant, settings: effectiveSettings(tenant.settings, settings) } : tenant
