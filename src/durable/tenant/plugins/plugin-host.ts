/** Offers to one call of a plugin what was granted to it: requests to its hosts, its store, and model calls. */

import { type Authority, systemAuthority } from '#agent/core/permission/authority.ts'
import type { SideModel } from '#agent/core/tool.ts'
import { isUsedUp } from '#agent/core/usage.ts'
import type { PluginGrants } from '#agent/plugins/plugin.ts'
import {
  type Capability,
  explainUses,
  type LlmRequest,
  maxUses,
  type PluginHost,
  type PluginRequest,
  type PluginResponse,
  type UseResult,
} from '#backends/plugins/protocol.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import type { OpenedSecrets } from '#durable/platform/tenant-secrets.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import { pluginsOf } from './plugin-row.ts'

export type HostOptions = {
  readonly env: Env
  readonly tenantId: string
  readonly plugin: { readonly name: string; readonly grants: PluginGrants }
  readonly secrets: OpenedSecrets
  /** Absent where nothing can be billed. */
  readonly model?: SideModel | undefined
  readonly signal?: AbortSignal | undefined
  readonly runInBackground?: (work: Promise<unknown>) => void
}

const requestTimeoutMs = 20_000
const maxAnswerBytes = 2 * 1024 * 1024
/** Costs that no price list knows are counted so. */
const unknownCostUsd = 0.01

export const ownAuthority = (tenantId: string): Authority => systemAuthority(tenantId, { kind: 'job', id: 'plugins' })

export const capabilitiesOf = ({ fetch, kv, llm }: PluginGrants): readonly Capability[] => [
  ...(fetch?.length ? (['fetch'] as const) : []),
  ...(kv ? (['kv'] as const) : []),
  ...(llm ? (['llm'] as const) : []),
]

export function createPluginHost(options: HostOptions): PluginHost {
  const { env, tenantId, plugin } = options
  const left: Record<Capability, number> = { ...maxUses }
  const isSpent = (kind: Capability) => left[kind]-- <= 0
  const spent = (kind: Capability) => ({ error: explainUses(kind) })
  return {
    fetch: async (url, request) => (isSpent('fetch') ? spent('fetch') : callHost(String(url), request, options)),
    kv: async (request) =>
      isSpent('kv') ? spent('kv') : pluginsOf(env, tenantId).kv(ownAuthority(tenantId), plugin.name, request),
    llm: async (request) => (isSpent('llm') ? spent('llm') : askModel(request, options)),
  }
}

async function callHost(
  address: string,
  request: PluginRequest,
  options: HostOptions,
): Promise<UseResult<PluginResponse>> {
  const { env, tenantId, plugin, signal, runInBackground = ignoreEnd } = options
  const url = findGrantedAddress(address, plugin.grants)
  if (!url) return { error: `The plugin may call https addresses of these hosts: ${plugin.grants.fetch?.join(', ')}.` }
  const method = (request.method ?? 'GET').toUpperCase()
  const body = method === 'GET' || method === 'HEAD' ? undefined : request.body
  try {
    const headers = addSecrets(url.host, request.headers, options)
    if ('error' in headers) return headers
    const sent = { url: url.href, method, headers: headers.value, body, signal }
    const guardedFetch = createTenantFetch(env, tenantId, runInBackground)
    const { response } = await guardedFetch({ ...sent, timeoutMs: requestTimeoutMs, maxBytes: maxAnswerBytes })
    return { value: await readResponse(response, redactorFor(env, tenantId).redactExact) }
  } catch (error) {
    return { error: error instanceof Error ? error.message.slice(0, 300) : 'The request failed.' }
  }
}

function findGrantedAddress(address: string, { fetch: hosts = [] }: PluginGrants): URL | undefined {
  const url = URL.parse(address)
  const isGranted = url?.protocol === 'https:' && !url.username && !url.password && hosts.includes(url.host)
  return isGranted ? url : undefined
}

const ignoreEnd = (work: Promise<unknown>): void => void work.catch(() => undefined)

/** The code cannot set a header that holds a secret. */
function addSecrets(
  host: string,
  given: PluginRequest['headers'],
  { plugin, secrets }: HostOptions,
): UseResult<Headers> {
  const headers = new Headers(given)
  for (const grant of plugin.grants.secrets ?? []) {
    if (grant.host !== host) continue
    const value = secrets.get(grant.name)
    if (value === undefined) return { error: `The secret ${grant.name} is not set. Tell the user.` }
    headers.set(grant.header, `${grant.prefix ?? ''}${value}`)
  }
  return { value: headers }
}

/** Redirects are answers: the code calls the next address if it may. */
const shownHeaders =
  /^(?:content-type|content-length|etag|last-modified|location|link|retry-after|x-ratelimit-.*|ratelimit.*)$/

/** A server may repeat the secret that it got. */
async function readResponse(response: Response, redact: (text: string) => string): Promise<PluginResponse> {
  const headers = [...response.headers].filter(([name]) => shownHeaders.test(name))
  return {
    status: response.status,
    headers: Object.fromEntries(headers.map(([name, value]) => [name, redact(value)])),
    text: redact(await response.text()),
  }
}

async function askModel(
  request: LlmRequest,
  { env, tenantId, plugin, model }: HostOptions,
): Promise<UseResult<string>> {
  const limit = plugin.grants.llm?.usd_per_day ?? 0
  const asked = readLlmRequest(request)
  if (!model || limit <= 0) return { error: 'No model can be asked here.' }
  if (!asked) return { error: 'ctx.llm takes {prompt, system?, max_tokens?}.' }
  const spend = (usd: number) => pluginsOf(env, tenantId).spend(ownAuthority(tenantId), plugin.name, usd)
  if (isUsedUp(await spend(0), limit)) return { error: `The plugin has spent its ${limit} USD of today.` }
  const answer = await model.ask(asked)
  const { costUsd = unknownCostUsd } = answer
  if (costUsd > 0) await spend(costUsd)
  return 'text' in answer ? { value: answer.text } : { error: answer.error }
}

const maxPromptChars = 200_000
const maxAnswerTokens = 8_192

function readLlmRequest({ prompt, system = '', max_tokens: max }: LlmRequest) {
  if (typeof prompt !== 'string' || prompt === '' || prompt.length > maxPromptChars) return undefined
  const maxTokens = typeof max === 'number' && max >= 1 ? Math.min(Math.floor(max), maxAnswerTokens) : undefined
  return { system: String(system), prompt, ...(maxTokens !== undefined && { maxTokens }) }
}
