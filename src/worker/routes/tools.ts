/** `/api/tools`, `/v1/toolsets` and `/v1/capabilities`: what the agent can do here, and what the rest needs. */

import * as z from 'zod'
import { BackendError } from '#agent/core/backend.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { ServiceName, Tool, Toolbox } from '#agent/core/tool.ts'
import type { Availability } from '#agent/core/vendor/tool-deployment.ts'
import { createToolDeployment } from '#durable/models/tool-deployment.ts'
import { explainMissingBackend, resolveBackendKind } from '#durable/workspace/open-backend.ts'
import { tools as builtIn } from '#tools/index.ts'
import { listToolsetMembers, toolsFor } from '#tools/tools-for.ts'
import { toolsets } from '#tools/toolsets.ts'
import { apiVersion } from '#agent/public-api/version.ts'
import { pageByPosition } from '../input/page.ts'
import { type ApiRoute, route } from '../route.ts'
import { listOf, longPageQuery, ok } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'

const toolShape = z.object({
  name: z.string(),
  toolset: z.string(),
  available: z.boolean(),
  by: z.string().nullable().describe('What runs it: a backend, or the agent itself. null: nothing can.'),
  reason: z.string().nullable().describe('Why it is hidden from the model.'),
})

const toolsetShape = z.object({
  name: z.string(),
  tools: z.array(z.string()),
  enabled: z.boolean().describe('Sessions with the settings of the tenant have all of its tools.'),
})

const capabilitiesShape = z.object({
  object: z.literal('talaria.capabilities'),
  platform: z.literal('talaria'),
  version: z.string(),
  model: z.literal('talaria'),
  auth: z.object({ type: z.literal('bearer'), required: z.literal(true) }),
  features: z.record(z.string(), z.union([z.boolean(), z.string()])),
  endpoints: z.record(z.string(), z.object({ method: z.string(), path: z.string() })),
})
nameSchemas(
  { Tool: toolShape, Toolset: toolsetShape, Capabilities: capabilitiesShape },
  {
    Tool: { name: 'read_file', toolset: 'file', available: true, by: 'virtual' },
    Toolset: { name: 'file', tools: ['read_file', 'write_file', 'patch', 'search_files'] },
  },
)

type Deployment = { readonly env: Env; readonly id: string; readonly settings: Settings }

/** Functions that return why a service is missing in this deployment. Services that are not listed are always available. */
const missingServices: Partial<Record<ServiceName, (deployment: Deployment) => string | undefined>> = {
  programs: ({ env }) => (env.LOADER ? undefined : 'The deployment has no binding LOADER.'),
  backend: ({ env, settings }) => {
    try {
      return explainMissingBackend(resolveBackendKind(settings, env), env)
    } catch (error) {
      if (error instanceof BackendError) return `${error.message} ${error.hint}`
      throw error
    }
  },
}

/** Explains what makes a tool available, or why nothing does. */
export function findAvailability(tool: Tool, deployment: Deployment): Availability {
  const missing = tool.needs.map((need) => missingServices[need]?.(deployment)).find((reason) => reason !== undefined)
  if (missing !== undefined) return { reason: missing }
  return tool.availability?.(toolDeploymentOf(deployment)) ?? { by: resolveRunner(tool, deployment) }
}

const toolDeploymentOf = ({ env, id, settings }: Deployment) => createToolDeployment(env, { id, settings })

function createToolbox({ settings }: Deployment): Toolbox {
  const services = new Set(builtIn.flatMap(({ needs }) => needs))
  return toolsFor({
    builtIn,
    enabled: settings.toolsets?.enabled,
    disabled: settings.toolsets?.disabled,
    services,
  }).toolbox
}

function toToolView(tool: Tool, toolbox: Toolbox, deployment: Deployment) {
  const { by = null, reason: missing } = findAvailability(tool, deployment)
  const reason = missing ?? (toolbox.has(tool.name) ? null : 'The setting toolsets leaves it out.')
  return {
    name: tool.name,
    toolset: tool.toolset,
    available: reason === null,
    by,
    reason,
  }
}

const resolveRunner = ({ needs }: Tool, { env, settings }: Deployment): string =>
  needs.includes('backend') ? resolveBackendKind(settings, env) : 'talaria'

/** Endpoints that clients look up by name, as Hermes names them. */
const endpointNames: Readonly<Record<string, string>> = {
  health: '/health',
  models: '/v1/models',
  chat_completions: '/v1/chat/completions',
  responses: '/v1/responses',
  runs: '/v1/runs',
  run_status: '/v1/runs/:id',
  run_events: '/v1/runs/:id/events',
  run_approval: '/v1/runs/:id/approval',
  run_steer: '/v1/runs/:id/steer',
  run_stop: '/v1/runs/:id/stop',
  toolsets: '/v1/toolsets',
  skills: '/v1/skills',
  sessions: '/api/sessions',
}

const features = {
  chat_completions: true,
  chat_completions_streaming: true,
  responses_api: true,
  responses_streaming: true,
  run_submission: true,
  run_status: true,
  run_events_sse: true,
  run_stop: true,
  run_steer: true,
  run_approval_response: true,
  tool_progress_events: true,
  session_continuity_header: 'X-Talaria-Session-Id',
}

/** `routes` are all routes of the API, for the methods and paths of the endpoints. */
export const createToolRoutes = (routes: () => readonly Pick<ApiRoute, 'method' | 'path'>[]): readonly ApiRoute[] => [
  route({
    method: 'get',
    path: '/api/tools',
    id: 'listTools',
    scope: 'read',
    tag: 'Tools',
    summary: 'Tools of the agent, and what hidden ones need',
    query: z.strictObject(longPageQuery),
    responses: ok('Tools by name', listOf(toolShape)),
    handle: async ({ env, tenant, query }) => {
      const deployment = { env, id: tenant.id, settings: tenant.settings }
      const toolbox = createToolbox(deployment)
      const data = builtIn.map((tool) => toToolView(tool, toolbox, deployment))
      return Response.json(pageByPosition(data.toSorted(byName), query))
    },
  }),
  route({
    method: 'get',
    path: '/v1/toolsets',
    id: 'listToolsets',
    scope: 'read',
    tag: 'Tools',
    summary: 'Toolsets and their tools',
    responses: ok('OpenAI list', z.object({ object: z.literal('list'), data: z.array(toolsetShape) })),
    handle: async ({ env, tenant }) => {
      const deployment = { env, id: tenant.id, settings: tenant.settings }
      const toolbox = createToolbox(deployment)
      const isUsable = (name: string) => {
        const tool = toolbox.get(name)
        return tool !== undefined && findAvailability(tool, deployment).reason === undefined
      }
      const data = Object.keys(toolsets).flatMap((name) => {
        const members = listToolsetMembers(builtIn, name)
        return members.length ? [{ name, tools: members, enabled: members.every(isUsable) }] : []
      })
      return Response.json({ object: 'list', data })
    },
  }),
  route({
    method: 'get',
    path: '/v1/capabilities',
    id: 'getCapabilities',
    scope: 'read',
    tag: 'Tools',
    summary: 'What this API supports',
    responses: ok('The capabilities', capabilitiesShape),
    handle: async () =>
      Response.json({
        object: 'talaria.capabilities',
        platform: 'talaria',
        version: apiVersion,
        model: 'talaria',
        auth: { type: 'bearer', required: true },
        features,
        endpoints: Object.fromEntries(listEndpoints(routes())),
      }),
  }),
]

const byName = (one: { readonly name: string }, other: { readonly name: string }) => (one.name < other.name ? -1 : 1)

/** Of several methods of a path, the one that starts work. */
const listEndpoints = (routes: readonly Pick<ApiRoute, 'method' | 'path'>[]) =>
  Object.entries(endpointNames).flatMap(([name, path]) => {
    const methods = routes.flatMap((one) => (one.path === path ? [one.method.toUpperCase()] : []))
    const method = methods.find((one) => one === 'POST') ?? methods[0]
    return method === undefined ? [] : [[name, { method, path: path.replace(/:(\w+)/g, '{$1}') }] as const]
  })
