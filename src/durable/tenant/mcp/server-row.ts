/** Describes a stored MCP server, and reads the servers that a variable of the deployment defines. */

import type { Breaker } from '#agent/mcp/breaker.ts'
import type { ListedTool, ToolDiff, ToolTexts } from '#agent/mcp/tool-texts.ts'
import type { Era } from '#agent/mcp/protocol.ts'
import type { ToolFilter } from '#agent/mcp/tool-names.ts'
import type { SealedSecrets } from '#durable/platform/tenant-secrets.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { callLoaded, type LoadedCalls } from '../loaded-part.ts'
import type { McpServers } from './servers.ts'
import { variablesOf } from '#durable/platform/variables.ts'

/** A value that is never shown again. `refers`: it names secrets of the tenant. */
export type SealedHeader = { readonly sealed: string; readonly lastFour: string; readonly refers?: true }

/** A client that the authorization server already knows. Without `client_id` it is found or registered. */
export type OAuthClient = {
  readonly client_id?: string | undefined
  readonly client_secret?: SealedHeader | undefined
  readonly scope?: string | undefined
  /** The authorization server that has had the secret. It is given to no other one. */
  readonly issuer?: string | undefined
}

export type ServerConfig = {
  readonly alias: string
  readonly url: string
  readonly transport: 'http' | 'sse' | 'stdio'
  readonly auth: 'none' | 'bearer' | 'headers' | 'oauth'
  readonly token?: SealedHeader | undefined
  readonly headers?: Readonly<Record<string, SealedHeader>> | undefined
  readonly oauth?: OAuthClient | undefined
  /** Of a program, whose `url` is its alias. */
  readonly command?: string | undefined
  readonly args?: readonly string[] | undefined
  /** Its environment. */
  readonly env?: Readonly<Record<string, SealedHeader>> | undefined
  readonly enabled: boolean
  readonly trusted: boolean
  readonly tools: ToolFilter & { readonly resources?: boolean | undefined; readonly prompts?: boolean | undefined }
  /** Seconds. */
  readonly timeout: number
  readonly connect_timeout: number
  readonly supports_parallel_tool_calls: boolean
  /** Absent in rows of before: the default. */
  readonly elicitation?: ElicitationConfig | undefined
}

/** `timeout`: seconds that a person has for an answer. */
export type ElicitationConfig = { readonly enabled: boolean; readonly timeout: number }

const defaultElicitation: ElicitationConfig = { enabled: true, timeout: 300 }

export const elicitationOf = ({ elicitation }: Pick<ServerConfig, 'elicitation'>): ElicitationConfig => ({
  ...defaultElicitation,
  ...elicitation,
})

export type ServerState = {
  readonly status: 'ready' | 'needs_auth' | 'unavailable'
  readonly reason?: string | undefined
  /** A remark about a list that was read. */
  readonly note?: string | undefined
  /** Since when the server is not ready. */
  readonly since?: number | undefined
  readonly era?: Era | undefined
  readonly version?: string | undefined
  readonly hasResources?: boolean | undefined
  readonly hasPrompts?: boolean | undefined
  /** It lists none: its resources and prompts are not those of tools that are withheld or filtered. */
  readonly hasNoTools?: boolean | undefined
  readonly fetchedAt?: number | undefined
  readonly expiresAt?: number | undefined
  /** The version of the tools on offer. Absent: they were not listed yet. */
  readonly toolsVersion?: number | undefined
  readonly breaker: Breaker
}

export type StoredServer = {
  readonly config: ServerConfig
  readonly state: ServerState
  readonly source: 'tenant' | 'deployment'
  /** Of a server of the deployment: plain values of its variable. */
  readonly plainHeaders?: Readonly<Record<string, string>>
  readonly plainEnv?: Readonly<Record<string, string>>
  readonly createdAt: number
  readonly updatedAt: number
}

/** The address of a program, which no request reaches. */
export const programUrl = (alias: string): string => `stdio:${alias}`

/** The deployment has named the host of its server, which may be private. It has named no other host. */
export const isOfDeployment = ({ source, config }: StoredServer, address: string): boolean =>
  source === 'deployment' && URL.parse(address)?.hostname === new URL(config.url).hostname

/** The token for one request. `failed`: the authorization server could not be asked, and it may work later. */
export type AccessToken =
  | { readonly kind: 'token'; readonly sealed: string; readonly issuer: string; readonly origin: string }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

export type ToolState = 'active' | 'filtered' | 'changed' | 'quarantined' | 'invalid'

export type StoredTool = ListedTool & {
  /** The model's name. */
  readonly name: string
  readonly state: ToolState
  readonly reason?: string
  readonly diff?: ToolDiff
}

/** The findings of one connection to a server. */
export type Listing = {
  readonly state: Omit<ServerState, 'breaker' | 'since' | 'toolsVersion'>
  /** Absent: the tools could not be listed, and the known ones stay. */
  readonly tools?: readonly ListedTool[]
  readonly ms: number
}

/** `isRefused`: the server is there and wants other credentials. */
export type CallFailure = { readonly reason: string; readonly tookMs: number; readonly isRefused?: boolean }

export type ApprovedTool = { readonly hash: string; readonly texts: ToolTexts }

/** The part of a server that a turn reads. */
export type CatalogueServer = StoredServer & { readonly offered: readonly StoredTool[] }

export type Catalogue = { readonly version: number; readonly servers: readonly CatalogueServer[] }

/** The tools that the asking isolate has are left out. */
export type CatalogueChanges = {
  readonly version: number
  readonly servers: readonly (StoredServer & Partial<Pick<CatalogueServer, 'offered'>>)[]
}

/** `toolsVersion` by alias. */
export type KnownTools = Readonly<Record<string, number | undefined>>

/** The data for one call. */
export type OpenedServer = {
  readonly server: StoredServer
  /** Undefined for a utility tool, and for one that the server does not have any more. */
  readonly tool: Pick<StoredTool, 'state' | 'reason'> | undefined
  readonly isAdmitted: boolean
  readonly secrets: SealedSecrets | undefined
}

const methods = [
  'list',
  'create',
  'update',
  'remove',
  'tools',
  'apply',
  'approve',
  'catalogue',
  'open',
  'report',
  'find',
  'putSignIn',
  'takeSignIn',
  'getClient',
  'putClient',
  'forgetClient',
  'putGrant',
  'forgetGrant',
  'noteSignInFailure',
  'addMissingScope',
  'getMissingScope',
  'accessToken',
  'listSealed',
  'reseal',
] as const
export type McpMethod = (typeof methods)[number]

export const mcpOf = (env: Env, tenantId: string): LoadedCalls<McpServers, McpMethod> =>
  callLoaded(methods, () => tenantStub(env, tenantId).mcp)

export const defaultConfig = {
  transport: 'http',
  auth: 'none',
  enabled: true,
  trusted: false,
  tools: {},
  timeout: 300,
  connect_timeout: 60,
  supports_parallel_tool_calls: false,
} as const

type DeploymentRow = Partial<Omit<ServerConfig, 'token' | 'headers' | 'oauth' | 'env'>> & {
  readonly env?: Readonly<Record<string, string>>
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly oauth?: Pick<OAuthClient, 'client_id' | 'scope'>
}

type DeploymentServers = readonly Omit<StoredServer, 'state'>[]
let lastRead: { readonly text: string; readonly servers: DeploymentServers } | undefined

/** `MCP_SERVERS`: rows of every tenant by alias, whose addresses may be private. Each call of a tool asks for them. */
export function deploymentServers(env: Env): DeploymentServers {
  const text = variablesOf(env)['MCP_SERVERS']?.trim()
  if (!text) return []
  if (lastRead?.text !== text) lastRead = { text, servers: readDeploymentServers(text) }
  return lastRead.servers
}

function readDeploymentServers(text: string): DeploymentServers {
  let rows: Readonly<Record<string, DeploymentRow>>
  try {
    rows = JSON.parse(text) as typeof rows
  } catch (error) {
    throw new Error('MCP_SERVERS must be JSON such as {"wiki":{"url":"https://wiki.example.com/mcp"}}.', {
      cause: error,
    })
  }
  return Object.entries(rows).map(([alias, { token, headers, env: plainEnv, ...row }]) => ({
    config: {
      ...defaultConfig,
      url: '',
      ...row,
      ...(row.command !== undefined && { transport: 'stdio' as const, url: programUrl(alias) }),
      alias,
      auth: token ? 'bearer' : headers ? 'headers' : row.auth === 'oauth' ? 'oauth' : 'none',
    },
    source: 'deployment' as const,
    plainHeaders: { ...headers, ...(token && { authorization: `Bearer ${token}` }) },
    ...(plainEnv && { plainEnv }),
    createdAt: 0,
    updatedAt: 0,
  }))
}
