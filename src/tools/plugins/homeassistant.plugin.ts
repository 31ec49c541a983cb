/** Reads and controls a Home Assistant by its REST API. */

import * as z from 'zod'
import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import type { Risk } from '#agent/core/tool.ts'
import { assessByRisk } from '#agent/policy/approval/approval.ts'
import { callApi, type Found, type Service } from './call-api.ts'
import { defineTool } from '../define-tool.ts'
import { fail, type ToolAnswer } from '../tool-result.ts'
import { definePlugin, type PluginHost } from './define-plugin.ts'

const toolset = 'homeassistant'
const maxEntities = 200
/** A call of one of them runs commands or requests on the machine of Home Assistant. */
const refusedDomains = new Set(['shell_command', 'command_line', 'python_script', 'pyscript', 'hassio', 'rest_command'])

const namePattern = /^[a-z0-9_]{1,100}$/
const domain = z.string().regex(namePattern, 'Such as light.')
const serviceName = z.string().regex(namePattern, 'Such as turn_on.')
const entity = z.string().regex(/^[a-z0-9_]{1,100}\.[a-z0-9_]{1,200}$/, 'Such as light.kitchen.')
/** It becomes part of a template, in which quotes and braces have a meaning. */
const area = z.string().regex(/^[\p{L}\p{N} _.-]{1,100}$/u, 'The name or id of an area.')

type Ask = { readonly path: string; readonly body?: object; readonly signal: AbortSignal }

const setup =
  'Home Assistant is not set up: store a long-lived access token with POST /api/credentials {"provider": "homeassistant"}, and set plugins.homeassistant_url.'

function addressOf({ deployment }: PluginHost) {
  const { settings, vendor } = deployment()
  const { keys, baseUrl, isReplaced } = vendor('homeassistant')
  const own = settings.plugins?.homeassistant_url?.replace(/\/{1,20}$/, '')
  return { url: own ?? baseUrl, token: keys[0], isTrusted: own === undefined && isReplaced }
}

const service: Service = {
  name: 'Home Assistant',
  explained: {
    401: 'Home Assistant refuses the access token. Create a new one and store it.',
    404: 'Home Assistant knows no such entity or service.',
  },
}

async function ask(host: PluginHost, { path, body: json, signal }: Ask): Promise<Found> {
  const { url, token, isTrusted } = addressOf(host)
  if (!url || token === undefined) return { error: setup }
  const method = json ? 'POST' : 'GET'
  return callApi(host, service, { url: `${url}/api/${path}`, method, token, json, isTrusted, signal })
}

const asObjects = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : [])
const nameOf = ({ attributes }: JsonObject): unknown =>
  isJsonObject(attributes) ? attributes['friendly_name'] : undefined

const show = (state: JsonObject): JsonObject => ({
  entity_id: state['entity_id'],
  state: state['state'],
  friendly_name: nameOf(state),
})

const answer = (found: Found, render: (value: unknown) => Readonly<Record<string, unknown>>): ToolAnswer =>
  'error' in found ? fail(found.error) : render(found.value)

async function listEntities(
  host: PluginHost,
  wish: { domain?: string | undefined; area?: string | undefined },
  signal: AbortSignal,
) {
  const states = await ask(host, { path: 'states', signal })
  const within = wish.area === undefined ? undefined : await listArea(host, wish.area, signal)
  if (within && 'error' in within) return fail(within.error)
  const ids = within && new Set(Array.isArray(within.value) ? within.value : [])
  return answer(states, (value) => {
    const matching = asObjects(value).filter(({ entity_id: id }) => {
      const isInDomain = wish.domain === undefined || String(id).startsWith(`${wish.domain}.`)
      return isInDomain && (ids?.has(id) ?? true)
    })
    const isCut = matching.length > maxEntities
    return {
      count: matching.length,
      entities: matching.slice(0, maxEntities).map(show),
      ...(isCut && { note: `The first ${maxEntities}. Narrow it by domain or area.` }),
    }
  })
}

const listArea = (host: PluginHost, name: string, signal: AbortSignal) =>
  ask(host, { path: 'template', body: { template: `{{ area_entities("${name}") | to_json }}` }, signal })

async function listServices(host: PluginHost, wanted: string | undefined, signal: AbortSignal) {
  return answer(await ask(host, { path: 'services', signal }), (value) => ({
    domains: asObjects(value)
      .filter(({ domain: name }) => !refusedDomains.has(String(name)) && (wanted === undefined || name === wanted))
      .map(({ domain: name, services }) => ({
        domain: name,
        services: describeServices(services, wanted !== undefined),
      })),
  }))
}

/** With their fields for one domain, else by name. */
function describeServices(services: unknown, isWhole: boolean): unknown {
  if (!isJsonObject(services)) return []
  if (!isWhole) return Object.keys(services)
  return Object.fromEntries(
    Object.entries(services).map(([name, one]) => {
      const { description, fields } = isJsonObject(one) ? one : {}
      return [name, { description, fields: isJsonObject(fields) ? Object.keys(fields) : [] }]
    }),
  )
}

type ServiceCall = {
  readonly domain: string
  readonly service: string
  readonly entity_id?: string | undefined
  readonly data?: JsonObject | undefined
}

async function callHome(host: PluginHost, call: ServiceCall, signal: AbortSignal) {
  const { domain: name, service: action, entity_id: id, data } = call
  if (refusedDomains.has(name))
    return fail(`Services of ${name} run code on the machine of Home Assistant, and are never called.`)
  const body = { ...data, ...(id !== undefined && { entity_id: id }) }
  return answer(await ask(host, { path: `services/${name}/${action}`, body, signal }), (value) => ({
    success: true,
    service: `${name}.${action}`,
    changed: asObjects(value).slice(0, maxEntities).map(show),
  }))
}

const readTool = { toolset, effect: 'pure', risk: (): Risk => 'net', touches: () => 'nothing' as const } as const

export default definePlugin({
  name: 'homeassistant',
  createTools: (host) => [
    defineTool({
      ...readTool,
      name: 'ha_list_entities',
      description: 'Lists entities of Home Assistant with their states, by domain (light, sensor, climate …) or area.',
      input: z.object({ domain: domain.optional(), area: area.optional() }),
      run: (wish, { signal }) => listEntities(host, wish, signal),
    }),
    defineTool({
      ...readTool,
      name: 'ha_get_state',
      description: 'The state of one entity of Home Assistant, with all its attributes.',
      input: z.object({ entity_id: entity }),
      run: async ({ entity_id: id }, { signal }) =>
        answer(await ask(host, { path: `states/${id}`, signal }), (value) => ({ state: value })),
    }),
    defineTool({
      ...readTool,
      name: 'ha_list_services',
      description: 'The services that Home Assistant offers: of one domain with their fields, else by name.',
      input: z.object({ domain: domain.optional() }),
      run: ({ domain: wanted }, { signal }) => listServices(host, wanted, signal),
    }),
    defineTool({
      name: 'ha_call_service',
      toolset,
      description: 'Calls a service of Home Assistant, such as light.turn_on for light.kitchen. It changes the home.',
      input: z.object({
        domain,
        service: serviceName,
        entity_id: entity.optional(),
        data: z.record(z.string().max(100), z.unknown()).optional().describe('Further fields, such as brightness.'),
      }),
      effect: 'effect',
      risk: () => 'send',
      assess: ({ domain: name, service: action, entity_id: id }) => {
        const subject = [`${name}.${action}`, id].filter((part) => part !== undefined).join(' ')
        return { ...assessByRisk('send', [subject]), rule: subject, reasons: ['it changes the home'] }
      },
      touches: () => [toolset],
      run: (call, { signal }) => callHome(host, call, signal),
    }),
  ],
})
