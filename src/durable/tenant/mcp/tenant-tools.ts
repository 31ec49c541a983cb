/**
 * Makes the tools that the MCP servers of a tenant offer to its sessions. A call asks the tenant's object what holds now,
 * and goes from the session to the server.
 */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { log } from '#agent/core/log.ts'
import { type Authority, systemAuthority } from '#agent/core/permission/authority.ts'
import type { CallContext, Effect, Reach, Risk, Services, Tool } from '#agent/core/tool.ts'
import type { PendingRequest, TaskRequest } from '#agent/core/pending-request.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { type CallResult, checkArguments, convertResult, failedCall, renderResource } from '#agent/mcp/call-result.ts'
import { listHeaderValues } from '#agent/mcp/listed-tool.ts'
import { encodeHeaderValue, type RpcMessage } from '#agent/mcp/protocol.ts'
import { maxNameChars } from '#agent/mcp/tool-names.ts'
import { defineSchemaTool } from '#tools/define-tool.ts'
import { deferTools, type DeferTools } from '#tools/search/defer-tools.ts'
import { clock } from '#durable/platform/clock.ts'
import { startDeadline, withTimeout } from '#durable/platform/timeout.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { forgetSnapshot, type TenantSnapshot } from '../tenant-snapshot.ts'
import {
  explainMissingScope,
  explainSignIn,
  type ProgramHost,
  programJobs,
  refreshServer,
  type ServerAccess,
  withCredentials,
} from './list-server.ts'
import {
  answerLater,
  type McpEndpoint,
  McpFailure,
  type McpFailureKind,
  type McpPeer,
  openPeer,
  request,
  ServerQuestion,
  type StreamPlace,
} from './mcp-client.ts'
import {
  type CallFailure,
  type Catalogue,
  type CatalogueServer,
  elicitationOf,
  mcpOf,
  type OpenedServer,
  type StoredTool,
} from './server-row.ts'
import type { Answered, Finished } from './unfinished-call.ts'

export type McpTools = {
  readonly version: number
  readonly tools: readonly Tool[]
  /** Loaded with the tools: without them nothing is deferred. */
  readonly defer: DeferTools
  /** Lists programs whose list is too old, on the host of a session. Undefined when there is nothing to do. */
  readonly listPrograms?: (host: ProgramHost) => Promise<void> | undefined
}

const maxCached = 500
const firstListingMs = 10_000
type CachedTools = McpTools & { readonly catalogue: Catalogue }
const cache = new BoundedMap<string, CachedTools>(maxCached)
/** Listings that this isolate has begun, so that sessions do not repeat them. */
const refreshing = new Set<string>()

const ownAuthority = (tenantId: string): Authority => systemAuthority(tenantId, { kind: 'job', id: 'mcp' })

/** The tools of the snapshot's version. The same array as long as they are the same. */
export async function loadMcpTools(env: Env, { id, mcpVersion, secrets }: TenantSnapshot): Promise<McpTools> {
  const cached = cache.get(id)
  const isKnown = cached !== undefined && cached.version >= (mcpVersion ?? 0)
  const known = isKnown ? cached : await loadTools(env, id)
  const expired = listExpired(known)
  if (!expired.length) return known
  const isFirst = expired.some(({ state }) => state.fetchedAt === undefined && state.expiresAt === undefined)
  const listAnew = async () => {
    // Another isolate may have listed them meanwhile, which raises no version when it found the same.
    const due = isKnown ? listExpired(await loadTools(env, id)) : expired
    await Promise.all(due.map((server) => refreshOnce(server, { env, tenantId: id, secrets })))
    // Loaded at once: sessions would list them again for as long as their snapshot knows the old version.
    return loadTools(env, id)
  }
  const work = listAnew()
  if (isFirst) return work
  work.catch((error: unknown) => log.warn('mcp.unrefreshed', 'MCP servers could not be listed anew.', { error }))
  return known
}

const isProgram = ({ config }: CatalogueServer): boolean => config.transport === 'stdio'
const isExpired = ({ state }: Pick<CatalogueServer, 'state'>): boolean => (state.expiresAt ?? 0) <= clock.now()
const listExpired = ({ catalogue }: CachedTools): readonly CatalogueServer[] =>
  catalogue.servers.filter((server) => !isProgram(server) && isExpired(server))

/** A program may have to be installed first: the turn does not wait for its end. */
const programListingMs = 60_000

const createProgramListing =
  (env: Env, tenantId: string, programs: readonly CatalogueServer[]): NonNullable<McpTools['listPrograms']> =>
  (host) => {
    const expired = programJobs(host) ? programs.filter(isExpired) : []
    if (!expired.length) return undefined
    const list = async () => {
      const opened = await Promise.all(
        expired.map(({ config }) => mcpOf(env, tenantId).open(ownAuthority(tenantId), config.alias)),
      )
      await Promise.all(
        opened.map((one) => {
          if (!one || !isExpired(one.server)) return undefined
          return refreshOnce({ ...one.server, offered: [] }, { env, tenantId, secrets: one.secrets, host })
        }),
      )
      await loadTools(env, tenantId)
      forgetSnapshot(tenantId)
    }
    return withTimeout(list(), firstListingMs, () => undefined)
  }

/** Reads the tools of those servers whose tools this isolate does not have. */
async function loadTools(env: Env, tenantId: string): Promise<CachedTools> {
  const last = cache.get(tenantId)
  const known = new Map(last?.catalogue.servers.map((server) => [server.config.alias, server]))
  const versions = Object.fromEntries([...known].map(([alias, { state }]) => [alias, state.toolsVersion]))
  const { version, servers } = await mcpOf(env, tenantId).catalogue(ownAuthority(tenantId), versions)
  const catalogue: Catalogue = {
    version,
    servers: servers.map((server) => ({
      ...server,
      offered: server.offered ?? known.get(server.config.alias)?.offered ?? [],
    })),
  }
  const isSame = last !== undefined && renderOffer(last.catalogue) === renderOffer(catalogue)
  const programs = catalogue.servers.filter(isProgram)
  const loaded = {
    ...(programs.length > 0 && { listPrograms: createProgramListing(env, tenantId, programs) }),
    version,
    catalogue,
    defer: deferTools,
    tools: isSame ? last.tools : createTools(env, tenantId, catalogue),
  }
  cache.set(tenantId, loaded)
  return loaded
}

/** Everything that `createTools` reads. Equal texts make equal tools: those of a server have a version. */
const renderOffer = ({ servers }: Catalogue): string =>
  JSON.stringify(
    servers.map(({ config, state: { toolsVersion, hasNoTools, hasResources, hasPrompts }, updatedAt }) => {
      return [config, updatedAt, toolsVersion, hasNoTools, hasResources, hasPrompts]
    }),
  )

async function refreshOnce(server: CatalogueServer, access: ServerAccess): Promise<void> {
  const key = `${access.tenantId} ${server.config.alias}`
  if (refreshing.has(key)) return
  refreshing.add(key)
  try {
    await refreshServer(server, access, isProgram(server) ? programListingMs : firstListingMs)
  } finally {
    refreshing.delete(key)
  }
}

function createTools(env: Env, tenantId: string, { servers }: Catalogue): readonly Tool[] {
  const used = new Set<string>()
  const nameOnce = (name: string, key: string) => {
    const free = used.has(name) ? `${name.slice(0, maxNameChars - 7)}_${hash53(key).toString(16).slice(-6)}` : name
    used.add(free)
    return free
  }
  return servers.flatMap((server) => {
    const { alias } = server.config
    const link: ServerLink = { env, tenantId, server }
    const tools = server.offered.map((tool) =>
      createTool(link, { ...tool, name: nameOnce(tool.name, `${alias} ${tool.tool}`) }),
    )
    return tools.length || server.state.hasNoTools ? [...tools, ...createUtilities(link, nameOnce)] : []
  })
}

type ServerLink = { readonly env: Env; readonly tenantId: string; readonly server: CatalogueServer }

const maxDescriptionChars = 1_024

/** Hints of a server that nobody trusts change nothing. */
function createTool(link: ServerLink, tool: StoredTool): Tool {
  const { config } = link.server
  const hints = (config.trusted ? tool.annotations : undefined) ?? {}
  const { readOnlyHint, idempotentHint } = hints
  const effect: Effect = readOnlyHint === true ? 'pure' : idempotentHint === true ? 'keyed' : 'effect'
  const risk: Risk = config.trusted ? 'net' : 'send'
  return defineSchemaTool<JsonObject, 'backend'>({
    ...needsOf(link),
    name: tool.name,
    toolset: `mcp-${config.alias}`,
    description: [tool.title, tool.description].filter(Boolean).join(': ').slice(0, maxDescriptionChars),
    input: { schema: tool.input_schema, parse: (raw) => parseInput(tool.input_schema, raw) },
    effect,
    risk: () => risk,
    reach: getReach(hints),
    timeoutMs: () => limitCall(config),
    touches: () => (config.supports_parallel_tool_calls ? 'nothing' : [`mcp:${config.alias}`]),
    run: (input, context) =>
      callServer(link, context, {
        tool: tool.tool,
        method: 'tools/call',
        params: { name: tool.tool, arguments: input },
        headers: Object.fromEntries(
          listHeaderValues(tool.input_schema, input).map(([name, value]) => [name, encodeHeaderValue(value)]),
        ),
        isRepeatable: effect === 'pure',
        isTask: tool.is_task === true,
        convert: (result) => convertResult(result, context.seesImages === true),
      }),
  })
}

/** The request ends first, so that the result names the server and the server counts as one that does not answer. */
const limitCall = ({ timeout }: CatalogueServer['config']): number => (timeout + 5) * 1_000

/** Programs run on the host of the session. */
const needsOf = ({ server }: ServerLink): { readonly needs?: readonly 'backend'[] } =>
  isProgram(server) ? { needs: ['backend'] } : {}

/** The protocol's defaults: a call that is not only read may destroy something, and others may be reached. */
function getReach({ readOnlyHint, destructiveHint, openWorldHint }: JsonObject): Reach | undefined {
  if (readOnlyHint !== true && destructiveHint !== false) return undefined
  return openWorldHint === false ? 'own' : 'open'
}

function parseInput(schema: JsonObject, raw: unknown) {
  if (!isJsonObject(raw ?? {})) return { ok: false as const, error: 'the arguments must be an object' }
  const input = omitNulls(schema, (raw ?? {}) as JsonObject)
  const error = checkArguments(schema, input)
  return error === undefined
    ? { ok: true as const, value: input }
    : { ok: false as const, error: `${error}. The schema: ${JSON.stringify(schema).slice(0, 4_000)}` }
}

/** Models write null for an argument that they leave out. */
function omitNulls({ properties, required }: JsonObject, input: JsonObject): JsonObject {
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  const typeOf = (name: string): unknown => {
    const schema = isJsonObject(properties) ? properties[name] : undefined
    return isJsonObject(schema) ? schema['type'] : undefined
  }
  const isOmitted = ([name, value]: readonly [string, unknown]) =>
    value === null && !needed.includes(name) && typeof typeOf(name) === 'string' && typeOf(name) !== 'null'
  return Object.fromEntries(Object.entries(input).filter((entry) => !isOmitted(entry)))
}

type ServerCall = {
  /** The server's name. Absent: a request for resources or prompts. */
  readonly tool?: string
  readonly method: string
  readonly params: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  readonly isRepeatable: boolean
  /** A legacy server runs the tool as a task only. */
  readonly isTask?: boolean
  readonly convert: (result: JsonObject) => CallResult
}

const reportedKinds: ReadonlySet<McpFailureKind> = new Set(['auth', 'transport', 'stale'])

/** A call that succeeds takes back what failures have left. */
const isBlemished = ({ breaker, status, reason }: OpenedServer['server']['state']): boolean =>
  breaker.failures.length > 0 || status !== 'ready' || reason !== undefined

/** Legacy sessions belong to one session of ours and one server. They end with this isolate. */
const peers = new BoundedMap<string, McpPeer>(2_000)

async function callServer(
  link: ServerLink,
  context: CallContext & Partial<Pick<Services, 'backend'>>,
  call: ServerCall,
): Promise<CallResult | { readonly later: PendingRequest }> {
  const { env, tenantId, server } = link
  const { alias } = server.config
  const stub = mcpOf(env, tenantId)
  const opened = await stub.open(ownAuthority(tenantId), alias, call.tool)
  const refusal = refuse(env, opened, call)
  if (!opened || refusal) return failedCall(refusal ?? 'The server was removed.')
  const begun = clock.now()
  const report = (failure?: CallFailure) => stub.report(ownAuthority(tenantId), alias, failure)
  try {
    const host = { backend: context.backend, sessionId: context.sessionId }
    const access = { env, tenantId, secrets: opened.secrets, host }
    const answered = await exchangeMore({ opened, access, link, context, call })
    if (isBlemished(opened.server.state)) await report()
    return 'later' in answered ? answered : call.convert(answered.result)
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error
    if (reportedKinds.has(error.kind))
      await report({ reason: error.message, tookMs: clock.now() - begun, isRefused: error.kind === 'auth' })
    return failCall(error, link, call)
  }
}

type OpenExchange = Exchange & {
  readonly context: CallContext
  readonly opened: OpenedServer
  readonly access: ServerAccess
}

/** Most calls are one request. The others ask a person, or become a task. */
async function exchangeMore({ opened, access, link, context, call }: OpenExchange): Promise<Finished> {
  const { server } = opened
  const isAsking = elicitationOf(server.config).enabled && context.mayWaitFor === undefined
  const offers = { elicitation: isAsking }
  const ask = ({ method, params }: Pick<ServerCall, 'method' | 'params'>) =>
    withCredentials(server, access, (endpoint) =>
      exchange({ ...endpoint, offers }, opened, { link, context, call: { ...call, method, params } }),
    )
  let first: Answered | undefined
  if (!context.continues) {
    try {
      first = { result: await ask(call) }
    } catch (error) {
      if (!(error instanceof ServerQuestion)) throw error
      first = { asked: error }
    }
    if ('result' in first && isComplete(first.result)) return first
  }
  const { catchQuestion, finishCall } = await import('./unfinished-call.ts')
  const later = { timeoutMs: server.config.timeout * 1_000, signal: context.signal, onProgress: context.reportProgress }
  const unfinished = {
    alias: server.config.alias,
    answerTimeout: isAsking ? elicitationOf(server.config).timeout : 0,
    call,
    context,
    send: (more: Pick<ServerCall, 'method' | 'params'>) => catchQuestion(ask(more)),
    answerLater: (question: RpcMessage, place: StreamPlace, result: JsonObject) =>
      catchQuestion(
        withCredentials(server, access, (endpoint) =>
          answerLater({ ...endpoint, offers }, { question, place }, result, later),
        ),
      ),
  }
  return finishCall(unfinished, first)
}

const isComplete = ({ resultType, task }: JsonObject): boolean =>
  resultType === 'complete' || (resultType === undefined && !isJsonObject(task))

async function failCall(error: McpFailure, link: ServerLink, call: ServerCall): Promise<CallResult> {
  const { alias } = link.server.config
  const missing = await explainMissingScope(error, link.server, link)
  if (missing !== undefined) return failedCall(missing)
  return failedCall(explainFailure(error, call, alias), error.code === undefined ? {} : { code: error.code })
}

/** Why a call may not leave now. */
function refuse(env: Env, opened: OpenedServer | undefined, call: ServerCall): string | undefined {
  if (!opened) return 'The server was removed or switched off. Tell the user if it is needed.'
  const { state } = opened.server
  if (call.tool !== undefined && opened.tool?.state !== 'active')
    return `The tool is withheld: ${opened.tool?.reason ?? 'the server does not have it any more.'} Tell the user; a person can approve it.`
  if (state.status === 'needs_auth') return explainNeed(env, opened.server)
  return opened.isAdmitted ? undefined : explainRest(opened)
}

/** The reason may name the place already: it is then said once. */
function explainNeed(env: Env, { config: { alias, auth }, state: { reason = '' } }: OpenedServer['server']): string {
  const texts = [`The server ${alias} needs credentials: ${reason}`]
  const where = explainSignIn(env, alias)
  if (!reason.includes('Tell the user')) texts.push('Tell the user.')
  if (auth === 'oauth' && !reason.includes(where)) texts.push(where)
  return texts.join(' ')
}

function explainRest({ server: { state, config } }: OpenedServer): string {
  const since = new Date(state.since ?? clock.now()).toISOString()
  return `The server ${config.alias} is unavailable since ${since}: ${state.reason ?? ''} Go on without it, or try again in a minute.`
}

type Exchange = {
  readonly link: ServerLink
  readonly context: Pick<CallContext, 'sessionId' | 'signal' | 'reportProgress'>
  readonly call: ServerCall
}

const taskTtlMs = 3_600_000

/** Asks again once when the server turns out to speak another era: such a request was not accepted. */
async function exchange(endpoint: McpEndpoint, { server }: OpenedServer, { link, context, call }: Exchange) {
  const { alias, timeout, connect_timeout: connectTimeout } = server.config
  const key = JSON.stringify([link.tenantId, context.sessionId, alias, server.updatedAt])
  const control = {
    timeoutMs: timeout * 1_000,
    signal: context.signal,
    onProgress: context.reportProgress,
    ...(call.headers && { headers: call.headers }),
  }
  const { method } = call
  const isProbed = peers.get(key) === undefined && server.state.era === undefined
  const peer = await findPeer(key, endpoint, server.state, connectTimeout)
  const paramsFor = ({ era }: McpPeer) =>
    call.isTask && era === 'legacy' && method === 'tools/call'
      ? { ...call.params, task: { ttl: taskTtlMs } }
      : call.params
  try {
    return await request(endpoint, peer, { method, params: paramsFor(peer) }, control)
  } catch (error) {
    if (!(error instanceof McpFailure) || error.kind !== 'stale' || isProbed) throw error
    const { peer: found } = await openPeer(endpoint, { timeoutMs: connectTimeout * 1_000 })
    if (found.era === peer.era) throw error
    peers.set(key, found)
    return request(endpoint, found, { method, params: paramsFor(found) }, control)
  }
}

async function findPeer(
  key: string,
  endpoint: McpEndpoint,
  { era, version }: OpenedServer['server']['state'],
  connectTimeout: number,
): Promise<McpPeer> {
  let peer = peers.get(key)
  if (!peer && era !== undefined && version !== undefined) peer = { era, version }
  peer ??= (await openPeer(endpoint, { timeoutMs: connectTimeout * 1_000 })).peer
  peers.set(key, peer)
  return peer
}

function explainFailure({ kind, message }: McpFailure, { isRepeatable }: ServerCall, alias: string): string {
  if (kind === 'rpc') return message
  if (kind === 'auth') return `${message} Tell the user that the server ${alias} needs other credentials.`
  if (kind === 'aborted') return message
  const outcome = isRepeatable ? '' : ' The call may have taken effect: check before you repeat it.'
  return `The server ${alias} gave no answer that can be used. ${message.replace(/\.?$/, '.')}${outcome}`
}

type TaskOwner = {
  readonly env: Env
  readonly tenantId: string
  readonly sessionId: string
  readonly tools: readonly Tool[]
}

/**
 * Informs servers and agents that nobody waits for their tasks any more. It is a courtesy: one that cannot be reached goes
 * on.
 */
export async function cancelTasks(owner: TaskOwner, tasks: readonly TaskRequest[]): Promise<void> {
  for (const task of tasks) {
    const deadline = startDeadline(cancelTimeoutMs)
    await cancelTask(owner, task, deadline.signal)
      .catch((error: unknown) => log.warn('mcp.task_uncancelled', 'A task of a server was not cancelled.', { error }))
      .finally(() => deadline.end())
  }
}

async function cancelTask({ tools, ...owner }: TaskOwner, task: TaskRequest, signal: AbortSignal): Promise<void> {
  const { env, tenantId, sessionId } = owner
  const { server: alias, workId: taskId, cancel } = task
  if (cancel) {
    const callId = `cancel ${taskId}`
    const context = { sessionId, authority: ownAuthority(tenantId), callId, callKey: callId, signal, clock }
    await tools.find(({ name }) => name === cancel.tool)?.run(JSON.parse(cancel.input), context, {})
    return
  }
  const opened = await mcpOf(env, tenantId).open(ownAuthority(tenantId), alias)
  if (!opened?.isAdmitted) return
  const link: ServerLink = { env, tenantId, server: { ...opened.server, offered: [] } }
  const call = { method: 'tasks/cancel', params: { taskId }, isRepeatable: true, convert: () => failedCall('') }
  await withCredentials(opened.server, { env, tenantId, secrets: opened.secrets }, (endpoint) =>
    exchange(endpoint, opened, { link, context: { sessionId, signal }, call }),
  )
}

const cancelTimeoutMs = 10_000

// Resources and prompts of a server, as tools.

type Utility = {
  readonly name: string
  readonly description: string
  readonly schema: JsonObject
  readonly method: string
  readonly convert: (result: JsonObject) => unknown
}

const text = (description: string): JsonObject => ({ type: 'string', description })
const list = (field: string) => (result: JsonObject) => result[field] ?? []
const noInput: JsonObject = { type: 'object', properties: {} }

const resourceUtilities: readonly Utility[] = [
  {
    name: 'list_resources',
    description: 'Lists the resources of this server.',
    schema: noInput,
    method: 'resources/list',
    convert: list('resources'),
  },
  {
    name: 'read_resource',
    description: 'Reads a resource of this server.',
    schema: { type: 'object', properties: { uri: text('As list_resources names it.') }, required: ['uri'] },
    method: 'resources/read',
    convert: ({ contents }) =>
      Array.isArray(contents) ? contents.filter(isJsonObject).map(renderResource).join('\n') : '',
  },
]

const promptUtilities: readonly Utility[] = [
  {
    name: 'list_prompts',
    description: 'Lists the prompts of this server.',
    schema: noInput,
    method: 'prompts/list',
    convert: list('prompts'),
  },
  {
    name: 'get_prompt',
    description: 'Renders a prompt of this server.',
    schema: {
      type: 'object',
      properties: { name: text('As list_prompts names it.'), arguments: { type: 'object' } },
      required: ['name'],
    },
    method: 'prompts/get',
    convert: list('messages'),
  },
]

function createUtilities(link: ServerLink, nameOnce: (name: string, key: string) => string): readonly Tool[] {
  const { config, state } = link.server
  const { resources = true, prompts = true } = config.tools
  const offered = [
    ...(resources && state.hasResources ? resourceUtilities : []),
    ...(prompts && state.hasPrompts ? promptUtilities : []),
  ]
  return offered.map(({ name, description, schema, method, convert }) =>
    defineSchemaTool<JsonObject, 'backend'>({
      ...needsOf(link),
      name: nameOnce(`mcp__${config.alias}__${name}`, `utility ${config.alias} ${name}`),
      toolset: `mcp-${config.alias}`,
      description: `${description.replace(/\.$/, '')} (${config.alias}).`,
      input: { schema, parse: (raw) => parseInput(schema, raw) },
      effect: 'pure',
      risk: () => (config.trusted ? 'net' : 'send'),
      reach: config.trusted ? 'open' : undefined,
      touches: () => [`mcp:${config.alias}`],
      timeoutMs: () => limitCall(config),
      run: (input, context) =>
        callServer(link, context, {
          method,
          params: input,
          isRepeatable: true,
          convert: (result) => convertResult({ content: [{ type: 'text', text: asText(convert(result)) }] }, false),
        }),
    }),
  )
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Keeps the last tools when the tenant's object cannot be reached. */
export async function tryLoadMcpTools(env: Env, snapshot: TenantSnapshot, last: McpTools | undefined) {
  try {
    return await loadMcpTools(env, snapshot)
  } catch (error) {
    if (isOwnReset(error)) throw error
    log.warn('mcp.unloaded', 'The tools of MCP servers could not be loaded; the last ones stay.', { error })
    return last
  }
}
