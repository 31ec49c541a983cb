/** Tests the rotation of keys: all secrets of a tenant open before, during and after it, without the earlier key. */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { beforeAll, expect, it, vi } from 'vitest'
import { createApp } from '#worker/app.ts'
import { newCredentialId } from '#durable/platform/ids.ts'
import { fingerprintSecret, unseal } from '#durable/platform/seal.ts'
import { credentialOwner, providerOwner } from '#durable/models/credentials.ts'
import { openTokens } from '#durable/models/subscription-tokens.ts'
import { parseSealedHeader } from '#agent/core/secrets/provider-headers.ts'
import { headerOwner } from '#durable/models/provider-headers.ts'
import { loadConnection, unsealSecrets } from '#durable/tenant/channels/connection.ts'
import { createConnections } from '#db/channel-connections.ts'
import { secretOwner } from '#durable/platform/tenant-secrets.ts'
import { sealForTenant } from '#durable/tenant/secrets/tenant-seal.ts'
import { profileOwner, vaultOf, vaultOwner } from '#durable/tenant/vault/vault-entry.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { serveMcp } from '../support/mcp-server.ts'
import { mcpUrl } from '../support/oauth-server.ts'
import { ownerAuthority } from '../support/authority.ts'
import { adminKey, applyMigrations, assignMail, bindings, call, newTenant } from './client.ts'

beforeAll(applyMigrations)

const newMaster = btoa(String.fromCharCode(...new Uint8Array(32).fill(5)))
const address = 'https://llm.example.com/v1'
const secrets = { bot_token: '4711:abcdefghijklmnop', webhook_secret: 'a-webhook-secret-with-32-characters' }

async function filledTenant() {
  const { id, key } = await newTenant()
  const body = { providers: { 'custom:mine': { base_url: address, headers: { 'x-team': 'the-header-secret' } } } }
  await call('PATCH', '/api/settings', { key, body })
  await call('POST', '/api/credentials', { key, body: { provider: 'openai', key: 'sk-the-credential-0001' } })
  await call('POST', '/api/secrets', { key, body: { name: 'DEPLOY_TOKEN', value: 'the-command-secret' } })
  await call('POST', '/api/channels', { key, body: { platform: 'telegram', secrets } })
  return id
}

/** All secrets of the tenant, opened with the keys of this deployment. */
async function openAll(env: Env, id: string) {
  const [credential] = (await tenantStub(bindings, id).credentials.list(ownerAuthority())).list
  const [secret] = await tenantStub(bindings, id).secrets.list(ownerAuthority())
  const settings = await tenantStub(bindings, id).settings.get()
  const header = parseSealedHeader(settings.providers?.['custom:mine']?.headers?.['x-team'] ?? '')
  const [connection] = await createConnections(bindings.DB, id).list({ limit: 1 })
  return [
    await unseal(env, credential!.sealed, credentialOwner(id, credential!)),
    await unseal(env, secret!.sealed, secretOwner(id, secret!.name)),
    await unseal(env, header, headerOwner(id, address, 'x-team')),
    await unsealSecrets(env, connection!),
  ]
}
const all = [
  { kind: 'opened', secret: 'sk-the-credential-0001' },
  { kind: 'opened', secret: 'the-command-secret' },
  { kind: 'opened', secret: 'the-header-secret' },
  secrets,
]

async function rotate(env: Env, id: string) {
  const context = createExecutionContext()
  const request = new Request(`https://talaria.test/api/admin/tenants/${id}/rotate-key`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}` },
  })
  const response = await createApp().fetch(request, env, context)
  await waitOnExecutionContext(context)
  return response.json()
}

it('credentials of MCP servers are sealed again, and open without the earlier key', async () => {
  const { id, key } = await newTenant()
  const server = serveMcp('mcp.example.com')
  const add = (body: object) => call('POST', '/api/mcp/servers', { key, body: { url: mcpUrl, ...body } })
  await add({ alias: 'one', token: 'the-mcp-token-0001' })
  await add({ alias: 'two', headers: { 'x-key': 'the-mcp-header-0001' } })
  await add({ alias: 'three', oauth: { client_id: 'c', client_secret: 'the-client-secret-1' } })
  expect(await rotate(bindings, id)).toEqual({ resealed: 3, unreadable: [] })
  expect(await rotate(bindings, id)).toEqual({ resealed: 3, unreadable: [] })
  await call('POST', '/api/mcp/servers/one/test', { key })
  expect(server.requests.at(-1)?.headers.get('authorization')).toBe('Bearer the-mcp-token-0001')
  await call('POST', '/api/mcp/servers/two/test', { key })
  expect(server.requests.at(-1)?.headers.get('x-key')).toBe('the-mcp-header-0001')
  vi.restoreAllMocks()
})

it('secrets of outgoing webhooks are sealed again, and sign as before', async () => {
  const { id, key } = await newTenant()
  const received: Request[] = []
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    received.push(new Request(input as RequestInfo, init as RequestInit))
    return new Response(null, { status: 204 })
  })
  const body = { url: 'https://hooks.example.com/', events: ['*'] }
  const made = await call<{ id: string; secret: string }>('POST', '/api/hooks', { key, body })
  await call('POST', `/api/hooks/${made.body.id}/rotate`, { key })
  expect(await rotate(bindings, id)).toEqual({ resealed: 2, unreadable: [] })
  expect((await call('POST', `/api/hooks/${made.body.id}/test`, { key })).body).toMatchObject({ ok: true })
  expect(received[0]?.headers.get('webhook-signature')).toMatch(/^v1,\S+$/)
  vi.restoreAllMocks()
})

it('a sign-in by subscription stays the one of its account, although its tokens are other ones than at its beginning', async () => {
  const { id } = await newTenant()
  const during = { ...bindings, ENCRYPTION_KEY: newMaster, ENCRYPTION_KEY_PREVIOUS: bindings.ENCRYPTION_KEY ?? '' }
  const after = { ...bindings, ENCRYPTION_KEY: newMaster }
  const one = { id: newCredentialId(), provider: 'openai-codex', name: null, lastFour: '', createdAt: Date.now() }
  const tokens = { access: 'renewed-access-secret', refresh: 'renewed-refresh-secret', issuedAt: 1, account: 'acct-1' }
  const markIn = (env: Env) => fingerprintSecret(env, 'acct-1', providerOwner(id, one.provider))
  const sealed = await sealForTenant(bindings, JSON.stringify(tokens), credentialOwner(id, one))
  await tenantStub(bindings, id).credentials.add(ownerAuthority(id), { ...one, sealed, mark: await markIn(bindings) })
  expect(await rotate(during, id)).toEqual({ resealed: 1, unreadable: [] })
  const [stored] = (await tenantStub(bindings, id).credentials.list(ownerAuthority())).list
  expect(stored?.sealed).not.toBe(sealed)
  expect(stored?.mark).toBe(await markIn(after))
  expect(await openTokens(after, id, stored!)).toEqual(tokens)
})

it('a new data key seals everything again', async () => {
  const id = await filledTenant()
  expect(await openAll(bindings, id)).toEqual(all)
  expect(await rotate(bindings, id)).toEqual({ resealed: 4, unreadable: [] })
  expect(await openAll(bindings, id)).toEqual(all)
  expect((await tenantStub(bindings, id).dataKeys.get(ownerAuthority()))?.version).toBe(2)
  for (const log of [id, 'default']) {
    const { results } = await bindings.DB.prepare('SELECT body FROM audit WHERE tenant_id = ? AND kind = ?')
      .bind(log, 'tenant.key_rotated')
      .all<{ body: string }>()
    const entries = results.filter(({ body }) => body.includes(`"${id}"`))
    expect([log, entries.length]).toEqual([log, 1])
  }
})

it('a new ENCRYPTION_KEY opens everything during the rotation, and alone after it', async () => {
  const id = await filledTenant()
  const during = { ...bindings, ENCRYPTION_KEY: newMaster, ENCRYPTION_KEY_PREVIOUS: bindings.ENCRYPTION_KEY ?? '' }
  const after = { ...bindings, ENCRYPTION_KEY: newMaster }
  expect(await openAll(during, id)).toEqual(all)
  expect((await openAll(after, id))[0]).toMatchObject({ kind: 'unreadable' })
  expect(await rotate(during, id)).toEqual({ resealed: 4, unreadable: [] })
  expect(await openAll(after, id)).toEqual(all)
})

it('entries of the vault and browser profiles are sealed again, and open without the earlier key', async () => {
  const { id, key } = await newTenant()
  const fields = { password: 'the-vault-password' }
  await call('POST', '/api/vault', { key, body: { name: 'bank', origins: ['https://bank.example.com'], fields } })
  const [vault, by] = [vaultOf(bindings, id), ownerAuthority(id)]
  const sealed = await sealForTenant(bindings, '[]', profileOwner(id, 'work'))
  await vault.putProfile(by, { name: 'work', savedAt: 1, sealed })
  const during = { ...bindings, ENCRYPTION_KEY: newMaster, ENCRYPTION_KEY_PREVIOUS: bindings.ENCRYPTION_KEY ?? '' }
  expect(await rotate(during, id)).toEqual({ resealed: 2, unreadable: [] })
  const after = { ...bindings, ENCRYPTION_KEY: newMaster }
  const [entry] = await vault.list(by)
  const profile = await vault.profile(by, 'work')
  expect([
    await unseal(after, entry?.sealed ?? '', vaultOwner(id, 'bank')),
    await unseal(after, profile?.sealed ?? '', profileOwner(id, 'work')),
  ]).toEqual([
    { kind: 'opened', secret: JSON.stringify(fields) },
    { kind: 'opened', secret: '[]' },
  ])
})

it('a channel without secrets is sealed again too', async () => {
  const { id, key } = await newTenant()
  await assignMail(id)
  await call('POST', '/api/channels', { key, body: { platform: 'email', settings: { address: 'rotated@mail.test' } } })
  const during = { ...bindings, ENCRYPTION_KEY: newMaster, ENCRYPTION_KEY_PREVIOUS: bindings.ENCRYPTION_KEY ?? '' }
  expect(await rotate(during, id)).toEqual({ resealed: 1, unreadable: [] })
  const [connection] = await createConnections(bindings.DB, id).list({ limit: 1 })
  const loaded = await loadConnection({ ...bindings, ENCRYPTION_KEY: newMaster }, connection!.id, Date.now())
  expect(loaded).toMatchObject({ status: 'active', channel: { platform: 'email' } })
})

it('what cannot be opened is named', async () => {
  const id = await filledTenant()
  const { unreadable } = (await rotate({ ...bindings, ENCRYPTION_KEY: newMaster }, id)) as { unreadable: string[] }
  expect(unreadable).toEqual([
    expect.stringMatching(/^credential /),
    'secret DEPLOY_TOKEN',
    'header custom:mine x-team',
    expect.stringMatching(/^channel /),
  ])
  expect(await openAll(bindings, id)).toEqual(all)
})

it('needs the owner of the deployment, and a tenant', async () => {
  const { id, key } = await newTenant()
  expect((await call('POST', `/api/admin/tenants/${id}/rotate-key`, { key })).status).toBe(403)
  expect((await call('POST', '/api/admin/tenants/unknown/rotate-key')).status).toBe(404)
})
