/**
 * Plays a person who uses our MCP client: adds the server of a scenario, calls its tools as a turn does, answers its
 * questions with the defaults of their forms, and signs in whenever a result says so. Only the tenant's object is replaced.
 */

import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { randomBytes, randomUUID } from 'node:crypto'
import { provideScheduler } from './scheduler.ts'
import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import type { Continuation, Elicitation } from '#agent/core/pending-request.ts'
import { type Authority, systemAuthority } from '#agent/core/permission/authority.ts'
import type { CallContext, Tool } from '#agent/core/tool.ts'
import { readElicitationAnswer } from '#agent/mcp/elicitation.ts'
import { clock } from '#durable/platform/clock.ts'
import { seal } from '#durable/platform/seal.ts'
import { clientSecretHeader, headerOwner, refreshServer } from '#durable/tenant/mcp/list-server.ts'
import { endSignIn, OAuthRefusal, startSignIn } from '#durable/tenant/mcp/oauth/sign-in.ts'
import { mcpOf, type StoredServer } from '#durable/tenant/mcp/server-row.ts'
import { TenantMcp } from '#durable/tenant/mcp/tenant-mcp.ts'
import { loadMcpTools } from '#durable/tenant/mcp/tenant-tools.ts'
import { StoredValues } from '#durable/tenant/stored-values.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'

/** Loads what is loaded on use elsewhere: the first scenario would wait for it until its time is over. */
export async function prepareClient(): Promise<void> {
  provideScheduler()
  await Promise.all([
    import('#durable/tenant/mcp/servers.ts'),
    import('#durable/tenant/mcp/unfinished-call.ts'),
    import('#durable/tenant/mcp/oauth/refresh-grant.ts'),
  ])
}

export type Scenario = { readonly name: string; readonly url: string; readonly context: JsonObject }

const alias = 'suite'
/** A person who signs in again and again without effect gives up. */
const maxRounds = 6

export async function playScenario({ name, url, context }: Scenario): Promise<void> {
  const user = await createUser(name, url, context)
  for (let round = 0; round < maxRounds; round++) {
    const wantsSignIn = await useTools(user, name, context)
    if (!wantsSignIn) return
    await signIn(user)
  }
}

type User = { readonly env: Env; readonly id: string; readonly authority: Authority }

async function createUser(name: string, url: string, context: JsonObject): Promise<User> {
  const id = randomUUID()
  const env = { ENCRYPTION_KEY: randomBytes(32).toString('base64') } as unknown as Env
  const { client_id: clientId, client_secret: secret } = context
  const owner = headerOwner(id, url, clientSecretHeader)
  const client = typeof clientId === 'string' && {
    client_id: clientId,
    ...(typeof secret === 'string' && { client_secret: { sealed: await seal(env, secret, owner), lastFour: '' } }),
  }
  const row = {
    url,
    ...(name.startsWith('auth/') && { auth: 'oauth', oauth: client || {} }),
    // This scenario takes every GET for a reconnection, also the stream on which a server asks.
    ...(name === 'sse-retry' && { elicitation: { enabled: false, timeout: 60 } }),
  }
  Object.assign(env, { MCP_SERVERS: JSON.stringify({ [alias]: row }) })
  Object.assign(env, { TENANT: { getByName: () => tenant } })
  const tenant = createTenant(env, id)
  return { env, id, authority: systemAuthority(id, { kind: 'job', id: 'suite' }) }
}

/** The parts of the tenant's object that the client calls. */
function createTenant(env: Env, tenantId: string) {
  const sql = openSql()
  const values = new StoredValues(sql)
  let dataKey: unknown
  const audit = { add: () => undefined, record: () => undefined }
  const mcp = new TenantMcp({
    mayChange: () => true,
    tenantId,
    env,
    sql,
    values,
    audit: audit as never,
    secrets: () => undefined,
  })
  return {
    mcp,
    dataKeys: { get: async () => dataKey, put: async (_: Authority, key: unknown) => (dataKey = key) },
    network: { record: async () => undefined },
  }
}

function openSql(): SqlStorage {
  const database = new DatabaseSync(':memory:')
  const exec = (query: string, ...given: readonly unknown[]) => {
    const rows = database.prepare(query).all(...(given as SQLInputValue[]))
    const written = database.prepare('SELECT changes() AS count').get() as { count: number }
    return { toArray: () => rows, one: () => rows[0], rowsWritten: written.count }
  }
  return { exec } as unknown as SqlStorage
}

/** Long enough for a busy machine. */
const connectMs = 60_000

/** True: a result asks to sign in. */
async function useTools(user: User, name: string, context: JsonObject): Promise<boolean> {
  const { env, id, authority } = user
  await refreshServer(await findServer(user), { env, tenantId: id, secrets: undefined }, connectMs)
  const version = clock.now() + 1
  const { tools } = await loadMcpTools(env, { id, mcpVersion: version } as TenantSnapshot)
  const found = await findServer(user)
  if (found.state.status === 'needs_auth') return true
  const listed = await mcpOf(env, id).tools(authority, alias)
  const schemas = (listed ?? []).map(({ tool, name: own, input_schema: schema }) => ({ tool, own, schema }))
  for (const { tool, input } of chooseCalls(name, context, schemas)) {
    const called = tools.find((one) => one.name === schemas.find((schema) => schema.tool === tool)?.own)
    if (called && /\bsign in\b/i.test(await callTool(user, called, input))) return true
  }
  return false
}

async function findServer({ env, id, authority }: User): Promise<StoredServer> {
  const found = await mcpOf(env, id).find(authority, alias)
  if (!found) throw new Error('The server is not there.')
  return found
}

type Listed = { readonly tool: string; readonly own: string; readonly schema: JsonObject }
type Call = { readonly tool: string; readonly input: JsonObject }

/** The calls that the scenario wants, else one of each tool with plain arguments. */
function chooseCalls(name: string, { toolCalls }: JsonObject, listed: readonly Listed[]): readonly Call[] {
  // This scenario wants the schema of its first tool as the argument of its second.
  if (name === 'json-schema-2020-12-preservation') {
    const [focal, echo] = listed
    return [{ tool: echo?.tool ?? '', input: { inputSchema: focal?.schema, schema: focal?.schema } }]
  }
  if (!Array.isArray(toolCalls)) return listed.map(({ tool, schema }) => ({ tool, input: fillIn(schema) }))
  return toolCalls.filter(isJsonObject).map(({ name: tool, arguments: input }) => ({
    tool: String(tool),
    input: isJsonObject(input) ? input : {},
  }))
}

const samples: Readonly<Record<string, unknown>> = { number: 1, integer: 1, boolean: true, array: [], object: {} }

const fillIn = ({ properties }: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(isJsonObject(properties) ? properties : {}).map(([name, schema]) => [
      name,
      samples[String(isJsonObject(schema) && schema['type'])] ?? 'text',
    ]),
  )

/** The text of the result. */
async function callTool({ id, authority }: User, tool: Tool, input: JsonObject): Promise<string> {
  const kept = new Map<string, unknown>()
  let continues: Continuation | undefined
  for (;;) {
    const context = {
      sessionId: id,
      authority,
      callId: randomUUID(),
      signal: new AbortController().signal,
      kept,
      ...(continues && { continues }),
    }
    const result = await tool.run(input, context as unknown as CallContext, {})
    if (!('later' in result)) return JSON.stringify(result.content)
    const { later } = result
    if (later.kind !== 'question' || !later.state) throw new Error('The call waits for something else.')
    continues = { state: later.state, answer: answerWithDefaults(later.elicitation) }
  }
}

function answerWithDefaults(elicitation: Elicitation | undefined): NonNullable<Continuation['answer']> {
  if (!elicitation) return { action: 'cancel' }
  const read = readElicitationAnswer(elicitation, { action: 'accept', content: {} })
  return 'answer' in read ? read.answer : { action: 'decline' }
}

/** The authorization servers of the scenarios ask nobody: they return the browser at once. */
async function signIn(user: User): Promise<void> {
  const { env, id, authority } = user
  const access = { env, tenantId: id, secrets: undefined }
  const origin = 'https://talaria.example.com'
  const started = await startSignIn(await findServer(user), access, { authority, origin, isPublic: true })
  if (started === 'foreign') throw new Error('The sign-in is not allowed.')
  const returned = await fetch(started.authorizeUrl, { redirect: 'manual' })
  const target = new URL(returned.headers.get('location') ?? '', origin).searchParams
  const ended = await endSignIn(env, {
    code: target.get('code') ?? undefined,
    state: target.get('state') ?? '',
    iss: target.get('iss') ?? undefined,
    cookie: started.cookie,
  })
  if (!ended) throw new OAuthRefusal('The return of the browser was refused.')
}
