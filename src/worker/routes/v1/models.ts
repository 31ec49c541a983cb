/** `/v1/models` and `/api/settings/models`: lists usable models and why others are unavailable. */

import * as z from 'zod'
import { findProvider, getMissingRequirement } from '#agent/routing/availability.ts'
import { listModelNames, emptyCatalog } from '#agent/providers/catalog/model-lookup.ts'
import type { KeyHealthById } from '#agent/routing/key-selection.ts'
import { type Provider, providers } from '#agent/providers/profiles/providers.ts'
import { chooseModel, explainModelless } from '#agent/routing/default-model.ts'
import { type Prices, type Route, resolveRoute, type Sources, splitModelId } from '#agent/routing/route.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { getHealth } from '#durable/models/key-pool.ts'
import { mixtureNames, resolveMixture } from '#durable/models/mixture-of-agents.ts'
import { listModelIds } from '#durable/models/model-routes.ts'
import { header, headerName } from '#agent/core/settings.ts'
import { pageByPosition } from '../../input/page.ts'
import { requireFetch } from '../../input/require-action.ts'
import { explainSmallWindow, hasTooSmallWindow, resolveRequestedModel } from '../../input/requested-model.ts'
import { type RouteCall, route } from '../../route.ts'
import { longPageQuery, ok } from '../../shapes.ts'
import { nameSchemas } from '../../schema-names.ts'
import { modelParam } from '../../openapi/path-params.ts'

const toModelObject = (id: string, owner: string) => ({ id, object: 'model', created: 0, owned_by: owner })

const getSources = ({ env, tenant, web }: Pick<RouteCall<unknown, unknown>, 'env' | 'tenant' | 'web'>): Sources =>
  sourcesFor(env, tenant, (work) => web.executionCtx.waitUntil(work))

/** Suspended keys do not count: they become usable again. */
const hasOnlyDeadKeys = ({ endpoints }: Route, health: KeyHealthById): boolean =>
  endpoints.every(({ id, key }) => key !== '' && health[id]?.dead)

/** Explains why no model of this provider can be used now. Undefined when one can. */
function explainUnavailable(provider: Provider, sources: Sources, health: KeyHealthById): string | undefined {
  const missing = getMissingRequirement(provider, sources)
  if (missing) return missing
  if (!hasNamedModel(provider, sources) && !chooseModel(provider, sources)) return explainModelless(provider)
  const any = resolveRoute(`${provider.id}/any`, sources)
  return any && hasOnlyDeadKeys(any, health)
    ? 'the provider refuses every key for it; GET /api/credentials shows the state of your own'
    : undefined
}

const hasNamedModel = ({ id }: Provider, sources: Sources): boolean =>
  listNamedModels(sources).some((name) => name.length > id.length + 1 && name.startsWith(`${id}/`))

/** Models that the settings or the deployment name. */
const listNamedModels = (sources: Sources): readonly string[] => [
  ...listModelIds(undefined, sources),
  ...Object.keys(sources.settings?.models ?? {}),
]

/** Named models first, then one model of each provider. */
function listUsableRoutes(sources: Sources, health: KeyHealthById): readonly Route[] {
  const ids = providers.flatMap((provider) => {
    const model = chooseModel(provider, sources)
    return model ? [`${provider.id}/${model}`] : []
  })
  const routes = [...listNamedModels(sources), ...ids]
    .flatMap((id) => resolveRoute(id, sources) ?? [])
    .filter((one) => !hasTooSmallWindow(one) && !hasOnlyDeadKeys(one, health))
  return [...new Map(routes.map((one) => [one.id, one])).values()]
}

function listProviderRoutes(name: string, sources: Sources, health: KeyHealthById): readonly Route[] {
  const id = findProvider(name, sources.settings)?.id ?? name
  const listed = listModelNames(sources.catalog ?? emptyCatalog, id).flatMap(
    (model) => resolveRoute(`${id}/${model}`, sources) ?? [],
  )
  const own = listUsableRoutes(sources, health).filter(({ provider }) => provider === id)
  return [...new Map([...own, ...listed].map((one) => [one.id, one])).values()]
}

/** Mixtures whose aggregator is usable, under their own names. */
const listUsableMixtures = (sources: Sources): readonly Route[] =>
  mixtureNames(sources.settings ?? {}).flatMap((id) => {
    const aggregator = resolveRoute(resolveMixture(id, sources.settings)?.aggregator ?? '', sources)
    return aggregator ? [{ ...aggregator, id, provider: 'moa' }] : []
  })

/** Lists unusable providers, then named models that are unusable. */
function listUnavailable(sources: Sources, health: KeyHealthById) {
  const { settings = {} } = sources
  const own = Object.keys(settings.providers ?? {}).flatMap((name) => findProvider(name, settings) ?? [])
  const closed = [...providers, ...own].flatMap((provider) => {
    const reason = explainUnavailable(provider, sources, health)
    return reason ? [{ provider: provider.id, model: provider.defaultModel || null, reason }] : []
  })
  const aggregators = mixtureNames(settings).flatMap((id) => resolveMixture(id, settings)?.aggregator ?? [])
  const models = [...new Set([...listNamedModels(sources), ...aggregators])].flatMap((id) => {
    const [name, model] = splitModelId(id)
    const resolved = resolveRoute(id, sources)
    if (resolved && hasTooSmallWindow(resolved))
      return [{ provider: resolved.provider, model, reason: explainSmallWindow(resolved) }]
    const isKnown = resolved !== undefined || resolveMixture(id, settings) || findProvider(name, settings)
    return isKnown ? [] : [{ provider: name, model, reason: 'there is no provider of this name' }]
  })
  return [...closed, ...models]
}

const modelShape = z.object({ id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.string() })

const count = z.int().nullable()
const amount = z.number()
const pricesShape = z
  .object({ input: amount, output: amount, cached_read: amount, cached_write: amount })
  .nullable()
  .describe('USD per million tokens; null: unknown.')
const abilitiesShape = z.record(z.string(), z.boolean().nullable()).describe('null: unknown.')
const usableShape = z.object({
  id: z.string(),
  provider: z.string(),
  dialect: z.string(),
  context_window: z.int(),
  max_output: count,
  prices: pricesShape,
  abilities: abilitiesShape,
  efforts: z.array(z.string()).nullable(),
  prompt_cache: z.enum(['5m', '1h']).nullable().describe('How long marked prompt prefixes are cached.'),
  knowledge: z.string().nullable(),
  deprecated: z.boolean(),
  source: z.enum(['settings', 'provider', 'models.dev', 'built-in', 'probe']).describe('Source of the context window.'),
})
const discovery = z.strictObject({
  base_url: z
    .url({ protocol: /^https?$/ })
    .max(500)
    .meta({ description: 'As of a custom provider.', example: 'https://llm.example.com/v1' }),
  key: z
    .string()
    .trim()
    .min(1)
    .max(4_096)
    .regex(/^[!-~]*$/, 'Printable ASCII without spaces.')
    .optional(),
  headers: z.record(headerName, header).optional(),
})
const discoveredShape = z.object({
  base_url: z.string().describe('The address under which the list was found: the given one, or with `/v1`.'),
  data: z.array(
    z.object({
      id: z.string().describe('As the server names it.'),
      context_window: count.describe('null: unknown.'),
      max_output: count,
      prices: pricesShape,
      abilities: abilitiesShape,
    }),
  ),
})
const missingShape = z.object({ provider: z.string(), model: z.string().nullable(), reason: z.string() })
nameSchemas(
  { Model: modelShape, ModelFacts: usableShape, UnavailableModel: missingShape },
  {
    Model: { id: 'talaria', created: 1_795_341_600 },
    ModelFacts: { id: 'openai/gpt-5.2' },
    UnavailableModel: { id: 'openai/gpt-5.2' },
  },
)

const orNull = <T>(value: T | undefined): T | null => value ?? null

const toModelView = ({
  id,
  provider,
  dialect,
  contextWindow,
  facts = {},
  prices,
  cache,
  windowSource = 'probe',
}: Route) => ({
  id,
  provider,
  dialect,
  context_window: contextWindow,
  max_output: orNull(facts.maxOutput),
  prices: orNull(prices && toPublicPrices(prices)),
  abilities: {
    images: orNull(facts.images),
    audio: orNull(facts.audio),
    reasoning: orNull(facts.reasoning),
    tools: orNull(facts.tools),
    caching: orNull(facts.caching),
  },
  efforts: orNull(facts.efforts),
  prompt_cache: orNull(cache),
  knowledge: orNull(facts.knowledge),
  deprecated: facts.deprecated === true,
  source: windowSource,
})

const toPublicPrices = ({ input, output, cachedRead, cachedWrite }: Prices) => ({
  input,
  output,
  cached_read: cachedRead,
  cached_write: cachedWrite,
})

export const modelRoutes = [
  route({
    method: 'get',
    path: '/v1/models',
    id: 'listModels',
    scope: 'read',
    tag: 'OpenAI',
    summary: 'Models that can be asked for',
    description: 'The agent itself as `talaria`, and `provider/model` for every model of a configured provider.',
    responses: ok('OpenAI list', z.object({ object: z.literal('list'), data: z.array(modelShape) })),
    handle: async (call) =>
      Response.json({
        object: 'list',
        data: [
          toModelObject('talaria', 'talaria'),
          ...listUsableMixtures(getSources(call)).map(({ id }) => toModelObject(id, 'talaria')),
          ...listUsableRoutes(getSources(call), getHealth(call.tenant.id)).map(({ id, provider }) =>
            toModelObject(id, provider),
          ),
        ],
      }),
  }),
  route({
    method: 'get',
    path: '/v1/models/:id{.+}',
    id: 'getModel',
    params: { id: modelParam },
    scope: 'read',
    tag: 'OpenAI',
    summary: 'One model',
    responses: ok('OpenAI model', modelShape),
    handle: async ({ env, tenant, param }) => {
      const id = param('id')
      resolveRequestedModel(id, env, tenant, 'id')
      return Response.json(toModelObject(id, id.includes('/') ? (id.split('/')[0] ?? '') : 'talaria'))
    },
  }),
  route({
    method: 'get',
    path: '/api/settings/models',
    id: 'listModelFacts',
    scope: 'read',
    tag: 'Settings',
    summary: 'Facts about usable models, and why others are unavailable',
    query: z.strictObject({
      ...longPageQuery,
      provider: z
        .string()
        .max(100)
        .optional()
        .describe('Lists all models that the public catalogs have of this provider.'),
    }),
    responses: ok(
      'Usable models, the default first, and the unavailable providers and named models',
      z.object({ data: z.array(usableShape), unavailable: z.array(missingShape), next_cursor: z.string().nullable() }),
    ),
    handle: async (call) => {
      const sources = getSources(call)
      const health = getHealth(call.tenant.id)
      const routes = call.query.provider
        ? listProviderRoutes(call.query.provider, sources, health)
        : [...listUsableRoutes(sources, health), ...listUsableMixtures(sources)]
      return Response.json({
        ...pageByPosition(routes.map(toModelView), call.query),
        unavailable: listUnavailable(sources, health),
      })
    },
  }),
  route({
    method: 'post',
    path: '/api/settings/models/discover',
    id: 'listModelsOfServer',
    scope: 'write',
    tag: 'Settings',
    summary: 'Ask a server which models it has, before it becomes a custom provider',
    description: 'Nothing is stored. The key goes to the server alone.',
    example: { base_url: 'https://llm.example.com/v1' },
    body: discovery,
    responses: ok('Its models, with what the server says about them', discoveredShape),
    handle: async (call) => {
      await requireFetch(call, call.body.base_url, 'base_url')
      const { discoverModels } = await import('../../input/discover-models.ts')
      return Response.json(await discoverModels(call))
    },
  }),
]
