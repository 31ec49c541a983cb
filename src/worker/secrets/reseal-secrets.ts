/** Seals all secrets of a tenant again with a new data key, so that earlier keys are not needed any more. */

import { isSealedHeader, parseSealedHeader, renderSealedHeader } from '#agent/core/secrets/provider-headers.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { type Connection, createConnections } from '#db/channel-connections.ts'
import { connectionOwner } from '#durable/tenant/channels/connection.ts'
import { credentialOwner, providerOwner } from '#durable/models/credentials.ts'
import { headerOwner } from '#durable/models/provider-headers.ts'
import { readIdentity } from '#durable/models/subscription-tokens.ts'
import { fingerprintSecret, type SecretOwner, unseal } from '#durable/platform/seal.ts'
import { clientSecretHeader, headerOwner as mcpHeaderOwner } from '#durable/tenant/mcp/list-server.ts'
import { clientOwner, grantOwner, type SealedRows } from '#durable/tenant/mcp/oauth/grant-rows.ts'
import { mcpOf } from '#durable/tenant/mcp/server-row.ts'
import { outgoingOf, outgoingOwner } from '#durable/tenant/outgoing/outgoing-row.ts'
import { rotateDataKey, sealForTenant } from '#durable/tenant/secrets/tenant-seal.ts'
import { vapidOwner } from '#durable/tenant/push/push.ts'
import { profileOwner, vaultOf, vaultOwner } from '#durable/tenant/vault/vault-entry.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { secretOwner } from '#durable/platform/tenant-secrets.ts'

export type Resealed = { resealed: number; readonly unreadable: string[] }

type ResealOperator = { readonly env: Env; readonly authority: Authority }

/** A value that cannot be opened stays as it is. One that changes meanwhile is sealed with the new key anyway. */
export async function resealSecrets(env: Env, authority: Authority, tenantId: string): Promise<Resealed> {
  await rotateDataKey(env, tenantId)
  const result: Resealed = { resealed: 0, unreadable: [] }
  await resealCredentials({ env, authority }, tenantId, result)
  await resealCommandSecrets({ env, authority }, tenantId, result)
  await resealHeaders({ env, authority }, tenantId, result)
  await resealChannels(env, tenantId, result)
  await resealPush({ env, authority }, tenantId, result)
  await resealMcp({ env, authority }, tenantId, result)
  await resealOutgoing({ env, authority }, tenantId, result)
  await resealVault({ env, authority }, tenantId, result)
  return result
}

async function resealCredentials(
  { env, authority }: ResealOperator,
  tenantId: string,
  result: Resealed,
): Promise<void> {
  const { credentials } = tenantStub(env, tenantId)
  for (const { id, provider, sealed: before } of (await credentials.list(authority)).list) {
    const owner = credentialOwner(tenantId, { id, provider })
    const secret = await open(env, { sealed: before, owner, name: `credential ${id}` }, result)
    if (secret === undefined) continue
    const mark = await fingerprintSecret(env, readIdentity(secret), providerOwner(tenantId, provider))
    const sealed = await sealForTenant(env, secret, owner)
    if (await tenantStub(env, tenantId).credentials.reseal(authority, { id, before, sealed, mark })) result.resealed++
  }
}

async function resealCommandSecrets(
  { env, authority }: ResealOperator,
  tenantId: string,
  result: Resealed,
): Promise<void> {
  for (const { name, sealed: before } of await tenantStub(env, tenantId).secrets.list(authority)) {
    const owner = secretOwner(tenantId, name)
    const secret = await open(env, { sealed: before, owner, name: `secret ${name}` }, result)
    if (secret === undefined) continue
    const sealed = await sealForTenant(env, secret, owner)
    if (await tenantStub(env, tenantId).secrets.reseal(authority, { name, before, sealed })) result.resealed++
  }
}

async function resealPush({ env, authority }: ResealOperator, tenantId: string, result: Resealed): Promise<void> {
  const { push } = tenantStub(env, tenantId)
  const stored = await push.getVapid(authority)
  if (!stored) return
  const owner = vapidOwner(tenantId)
  const secret = await open(env, { sealed: stored.sealed, owner, name: 'push key' }, result)
  if (secret === undefined) return
  await push.resealVapid(authority, await sealForTenant(env, secret, owner))
  result.resealed++
}

async function resealHeaders({ env, authority }: ResealOperator, tenantId: string, result: Resealed): Promise<void> {
  const { providers = {} } = await tenantStub(env, tenantId).settings.get()
  for (const [provider, { base_url: address, headers = {} }] of Object.entries(providers))
    for (const [header, before] of Object.entries(headers)) {
      if (!isSealedHeader(before)) continue
      const owner = headerOwner(tenantId, address, header)
      const secret = await open(
        env,
        { sealed: parseSealedHeader(before), owner, name: `header ${provider} ${header}` },
        result,
      )
      if (secret === undefined) continue
      const after = renderSealedHeader(secret, await sealForTenant(env, secret, owner))
      if (await tenantStub(env, tenantId).settings.resealHeader(authority, { provider, header, before, after }))
        result.resealed++
    }
}

const pageSize = 100

async function resealChannels(env: Env, tenantId: string, result: Resealed): Promise<void> {
  const connections = createConnections(env.DB, tenantId)
  let page: readonly Connection[] = []
  do {
    const last = page.at(-1)
    page = await connections.list({ limit: pageSize, before: last && { at: last.createdAt, id: last.id } })
    for (const connection of page) {
      const { id, secrets: before, endings } = connection
      const owner = connectionOwner(tenantId, id)
      const opened = await open(env, { sealed: before, owner, name: `channel ${id}` }, result)
      if (opened === undefined) continue
      const secrets = await sealForTenant(env, opened, owner)
      if (await connections.update(id, { secrets: { secrets, endings, before } })) result.resealed++
    }
  } while (page.length === pageSize)
}

/** Credentials of MCP servers, and the tokens and clients of their sign-ins. */
async function resealMcp({ env, authority }: ResealOperator, tenantId: string, result: Resealed): Promise<void> {
  for (const { sealed: before, owner, name } of listMcpSecrets(
    tenantId,
    await mcpOf(env, tenantId).listSealed(authority),
  )) {
    const secret = await open(env, { sealed: before, owner, name }, result)
    if (secret === undefined) continue
    if (await mcpOf(env, tenantId).reseal(authority, before, await sealForTenant(env, secret, owner))) result.resealed++
  }
}

async function resealOutgoing({ env, authority }: ResealOperator, tenantId: string, result: Resealed): Promise<void> {
  for (const { id, sealed: before } of await outgoingOf(env, tenantId).listSealed(authority)) {
    const owner = outgoingOwner(tenantId, id)
    const secret = await open(env, { sealed: before, owner, name: `webhook ${id}` }, result)
    if (secret === undefined) continue
    const sealed = await sealForTenant(env, secret, owner)
    if (await outgoingOf(env, tenantId).reseal(authority, before, sealed)) result.resealed++
  }
}

/** Entries of the vault, and the cookies of browser profiles. */
async function resealVault({ env, authority }: ResealOperator, tenantId: string, result: Resealed): Promise<void> {
  const vault = vaultOf(env, tenantId)
  for (const { name, sealed: before } of await vault.list(authority)) {
    const owner = vaultOwner(tenantId, name)
    const opened = await open(env, { sealed: before, owner, name: `vault ${name}` }, result)
    if (opened === undefined) continue
    const sealed = await sealForTenant(env, opened, owner)
    if (await vault.reseal(authority, { name, before, sealed })) result.resealed++
  }
  for (const { name } of await vault.listProfiles(authority)) {
    const before = (await vault.profile(authority, name))?.sealed ?? ''
    const owner = profileOwner(tenantId, name)
    const opened = await open(env, { sealed: before, owner, name: `browser profile ${name}` }, result)
    if (opened === undefined) continue
    const sealed = await sealForTenant(env, opened, owner)
    if (await vault.resealProfile(authority, { name, before, sealed })) result.resealed++
  }
}

function listMcpSecrets(tenantId: string, { configs, grants, clients }: SealedRows): readonly Sealed[] {
  const ofServers = configs.flatMap(({ alias, url, token, headers = {}, oauth }) => {
    const named = {
      ...headers,
      ...(token && { authorization: token }),
      ...(oauth?.client_secret && { [clientSecretHeader]: oauth.client_secret }),
    }
    return Object.entries(named).map(([header, { sealed }]) => {
      return { sealed, owner: mcpHeaderOwner(tenantId, url, header), name: `mcp ${alias} ${header}` }
    })
  })
  const ofGrants = grants.flatMap(({ alias, grant }) => {
    const owner = grantOwner(tenantId, { alias, ...grant })
    return [grant.access, grant.refresh].flatMap((sealed) =>
      sealed === undefined ? [] : [{ sealed, owner, name: `mcp ${alias} token` }],
    )
  })
  const known = [...clients, ...grants.map(({ grant }) => ({ issuer: grant.issuer, client: grant }))]
  const ofClients = new Map(
    known.flatMap(({ issuer, client: { secret } }) =>
      secret === undefined
        ? []
        : [
            [
              secret,
              { sealed: secret, owner: clientOwner(tenantId, issuer), name: `mcp client of ${issuer}` },
            ] as const,
          ],
    ),
  )
  return [...ofServers, ...ofGrants, ...ofClients.values()]
}

type Sealed = { readonly sealed: string; readonly owner: SecretOwner; readonly name: string }

async function open(env: Env, { sealed, owner, name }: Sealed, result: Resealed): Promise<string | undefined> {
  const opened = await unseal(env, sealed, owner)
  if (opened.kind === 'opened') return opened.secret
  result.unreadable.push(name)
  return undefined
}
