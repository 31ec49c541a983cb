/** Tests that every route that changes something for others writes its entry in the audit log, with who did it. */

import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { calls, model, says, until } from '../../support/scripted-model.ts'
import { ownerAuthority } from '../../support/authority.ts'
import { serveMcp, tool } from '../../support/mcp-server.ts'
import { readListedTool, renderForHash } from '#agent/mcp/listed-tool.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { vaultOf } from '#durable/tenant/vault/vault-entry.ts'
import { applyMigrations, bindings, call, newKey, newSession, newTenant, request } from '../client.ts'
import { connectApp } from '../connect-app.ts'
import { listOperations } from '../document.ts'

type Entry = { readonly kind: string; readonly actor: string | null; readonly subject: string }
type Ids = { readonly tenant: string; readonly key: string; readonly [name: string]: string }

/** `log`: whose log has the entry; `actor`: a key of the tenant, or the operator's. */
type Case = {
  readonly kind: string
  readonly by: 'tenant' | 'operator'
  readonly path: (ids: Ids) => string
  readonly body?: (ids: Ids) => object
  /** Keeps ids of the answer for the next cases. */
  readonly keep?: (answer: { readonly id: string; readonly hash: string }) => Record<string, string>
}

const telegram = { bot_token: `123456:${'A'.repeat(35)}`, webhook_secret: 's'.repeat(40) }

const skill = (name: string, text = 'Work.') => `---\nname: ${name}\ndescription: ${name}\n---\n\n${text}\n`
const skillAddress = 'https://skills.example.org/SKILL.md'

const pluginCode = (name: string) => `export const hooks = { post_tool_call: { run: () => '${name}' } }`

/** In an order in which each finds what the ones before have made. */
const audited: Readonly<Record<string, Case>> = {
  'PATCH /api/settings': {
    kind: 'settings.changed',
    by: 'tenant',
    path: () => '/api/settings',
    body: () => ({ approvals: { mode: 'manual' } }),
  },
  'POST /api/credentials': {
    kind: 'credential.added',
    by: 'tenant',
    path: () => '/api/credentials',
    body: () => ({ provider: 'openai', key: crypto.randomUUID() }),
    keep: ({ id }) => ({ credential: id }),
  },
  'DELETE /api/credentials/{id}': {
    kind: 'credential.removed',
    by: 'tenant',
    path: ({ credential }) => `/api/credentials/${credential}`,
  },
  'POST /api/secrets': {
    kind: 'secret.added',
    by: 'tenant',
    path: () => '/api/secrets',
    body: () => ({ name: 'TOKEN', value: crypto.randomUUID() }),
  },
  'DELETE /api/secrets/{name}': { kind: 'secret.removed', by: 'tenant', path: () => '/api/secrets/TOKEN' },
  'POST /api/vault': {
    kind: 'vault.added',
    by: 'tenant',
    path: () => '/api/vault',
    body: () => ({ name: 'bank', origins: ['https://bank.example.com'], fields: { password: crypto.randomUUID() } }),
  },
  'PATCH /api/vault/{entry}': {
    kind: 'vault.changed',
    by: 'tenant',
    path: () => '/api/vault/bank',
    body: () => ({ origins: ['https://www.bank.example.com'], unasked_origins: [] }),
  },
  'DELETE /api/vault/{entry}': { kind: 'vault.removed', by: 'tenant', path: () => '/api/vault/bank' },
  'DELETE /api/browser/profiles/{profile}': {
    kind: 'vault.removed',
    by: 'tenant',
    path: () => '/api/browser/profiles/work',
  },
  'POST /api/mcp/servers': {
    kind: 'mcp.created',
    by: 'tenant',
    path: () => '/api/mcp/servers',
    body: () => ({ alias: 'audited', url: 'https://mcp.example.org/mcp' }),
  },
  'POST /api/mcp/servers/{alias}/approve': {
    kind: 'mcp.approved',
    by: 'tenant',
    path: () => '/api/mcp/servers/audited/approve',
    body: ({ hash }) => ({ tools: [{ tool: 'echo', hash }] }),
  },
  'PATCH /api/mcp/servers/{alias}': {
    kind: 'mcp.changed',
    by: 'tenant',
    path: () => '/api/mcp/servers/audited',
    body: () => ({ enabled: false }),
  },
  'DELETE /api/mcp/servers/{alias}': {
    kind: 'mcp.deleted',
    by: 'tenant',
    path: () => '/api/mcp/servers/audited',
  },
  'DELETE /api/apps/{id}': { kind: 'app.disconnected', by: 'tenant', path: ({ app }) => `/api/apps/${app}` },
  'POST /api/plugins': {
    kind: 'plugin.created',
    by: 'tenant',
    path: () => '/api/plugins',
    body: () => ({ name: 'audited', code: pluginCode('one') }),
    keep: ({ hash }) => ({ plugin: hash }),
  },
  'POST /api/plugins/{name}/approve': {
    kind: 'plugin.approved',
    by: 'tenant',
    path: () => '/api/plugins/audited/approve',
    body: ({ plugin }) => ({ hash: plugin }),
  },
  'PATCH /api/plugins/{name}': {
    kind: 'plugin.changed',
    by: 'tenant',
    path: () => '/api/plugins/audited',
    body: () => ({ code: pluginCode('two') }),
  },
  'POST /api/plugins/{name}/pause': {
    kind: 'plugin.changed',
    by: 'tenant',
    path: () => '/api/plugins/audited/pause',
  },
  'POST /api/plugins/{name}/resume': {
    kind: 'plugin.changed',
    by: 'tenant',
    path: () => '/api/plugins/audited/resume',
  },
  'DELETE /api/plugins/{name}': { kind: 'plugin.deleted', by: 'tenant', path: () => '/api/plugins/audited' },
  'POST /api/hooks': {
    kind: 'hook.created',
    by: 'tenant',
    path: () => '/api/hooks',
    body: () => ({ url: 'https://hooks.example.org/', events: ['*'] }),
    keep: ({ id }) => ({ hook: id }),
  },
  'PATCH /api/hooks/{id}': {
    kind: 'hook.changed',
    by: 'tenant',
    path: ({ hook }) => `/api/hooks/${hook}`,
    body: () => ({ status: 'disabled' }),
  },
  'POST /api/hooks/{id}/rotate': {
    kind: 'hook.changed',
    by: 'tenant',
    path: ({ hook }) => `/api/hooks/${hook}/rotate`,
  },
  'DELETE /api/hooks/{id}': { kind: 'hook.deleted', by: 'tenant', path: ({ hook }) => `/api/hooks/${hook}` },
  'POST /api/memory/versions/{id}/restore': {
    kind: 'memory.restored',
    by: 'tenant',
    path: ({ version }) => `/api/memory/versions/${version}/restore`,
  },
  'POST /api/memory/forget': {
    kind: 'memory.forgotten',
    by: 'tenant',
    path: () => '/api/memory/forget',
    body: () => ({ words: 'audited', confirm: true }),
  },
  'POST /api/projects': {
    kind: 'project.created',
    by: 'tenant',
    path: () => '/api/projects',
    body: () => ({ name: 'audited' }),
    keep: ({ id }) => ({ project: id }),
  },
  'PATCH /api/projects/{id}': {
    kind: 'project.changed',
    by: 'tenant',
    path: ({ project }) => `/api/projects/${project}`,
    body: () => ({ instructions: 'Be brief.' }),
  },
  'PUT /api/projects/{id}/files/{path}': {
    kind: 'project.changed',
    by: 'tenant',
    path: ({ project }) => `/api/projects/${project}/files/a.md`,
    body: () => ({ any: 'bytes' }),
  },
  'DELETE /api/projects/{id}/files/{path}': {
    kind: 'project.changed',
    by: 'tenant',
    path: ({ project }) => `/api/projects/${project}/files/a.md`,
  },
  'DELETE /api/projects/{id}': {
    kind: 'project.deleted',
    by: 'tenant',
    path: ({ project }) => `/api/projects/${project}`,
  },
  'POST /api/skills': {
    kind: 'skill.created',
    by: 'tenant',
    path: () => '/api/skills',
    body: () => ({ name: 'audited', content: skill('audited') }),
  },
  'PUT /api/skills/{name}': {
    kind: 'skill.changed',
    by: 'tenant',
    path: () => '/api/skills/audited',
    body: () => ({ content: skill('audited', 'Other.') }),
  },
  'PATCH /api/skills/{name}': {
    kind: 'skill.changed',
    by: 'tenant',
    path: () => '/api/skills/audited',
    body: () => ({ archived: true }),
  },
  'PUT /api/skills/{name}/files/{path}': {
    kind: 'skill.changed',
    by: 'tenant',
    path: () => '/api/skills/audited/files/references/a.md',
    body: () => ({ any: 'bytes' }),
  },
  'DELETE /api/skills/{name}/files/{path}': {
    kind: 'skill.changed',
    by: 'tenant',
    path: () => '/api/skills/audited/files/references/a.md',
  },
  'DELETE /api/skills/{name}': { kind: 'skill.deleted', by: 'tenant', path: () => '/api/skills/audited' },
  'POST /api/skills/import': {
    kind: 'skill.created',
    by: 'tenant',
    path: () => '/api/skills/import',
    body: () => ({ url: skillAddress }),
  },
  'POST /api/skills/{name}/update': {
    kind: 'skill.changed',
    by: 'tenant',
    path: () => '/api/skills/imported/update',
    body: () => ({}),
  },
  'POST /api/channels': {
    kind: 'channel.created',
    by: 'tenant',
    path: () => '/api/channels',
    body: () => ({ platform: 'telegram', name: 'Ours', secrets: telegram }),
    keep: ({ id }) => ({ channel: id }),
  },
  'PATCH /api/channels/{id}': {
    kind: 'channel.changed',
    by: 'tenant',
    path: ({ channel }) => `/api/channels/${channel}`,
    body: () => ({ name: 'Theirs' }),
  },
  'POST /api/channels/{id}/pause': {
    kind: 'channel.changed',
    by: 'tenant',
    path: ({ channel }) => `/api/channels/${channel}/pause`,
  },
  'POST /api/channels/{id}/resume': {
    kind: 'channel.changed',
    by: 'tenant',
    path: ({ channel }) => `/api/channels/${channel}/resume`,
  },
  'DELETE /api/channels/{id}': {
    kind: 'channel.deleted',
    by: 'tenant',
    path: ({ channel }) => `/api/channels/${channel}`,
  },
  'POST /api/webhooks': {
    kind: 'channel.created',
    by: 'tenant',
    path: () => '/api/webhooks',
    body: () => ({ name: 'CI', signature: 'gitlab', secret: 's'.repeat(20) }),
    keep: ({ id }) => ({ webhook: id }),
  },
  'PATCH /api/webhooks/{id}': {
    kind: 'channel.changed',
    by: 'tenant',
    path: ({ webhook }) => `/api/webhooks/${webhook}`,
    body: () => ({ name: 'Other' }),
  },
  'POST /api/webhooks/{id}/pause': {
    kind: 'channel.changed',
    by: 'tenant',
    path: ({ webhook }) => `/api/webhooks/${webhook}/pause`,
  },
  'POST /api/webhooks/{id}/resume': {
    kind: 'channel.changed',
    by: 'tenant',
    path: ({ webhook }) => `/api/webhooks/${webhook}/resume`,
  },
  'DELETE /api/webhooks/{id}': {
    kind: 'channel.deleted',
    by: 'tenant',
    path: ({ webhook }) => `/api/webhooks/${webhook}`,
  },
  'POST /api/pairing/approve': {
    kind: 'pairing.approved',
    by: 'tenant',
    path: () => '/api/pairing/approve',
    body: ({ code }) => ({ platform: 'telegram', code }),
  },
  'DELETE /api/pairing/{id}': {
    kind: 'pairing.removed',
    by: 'tenant',
    path: () => '/api/pairing/telegram:7',
  },
  'POST /api/approvals/{id}': {
    kind: 'approval.decided',
    by: 'tenant',
    path: ({ approval }) => `/api/approvals/${approval}`,
    body: () => ({ decision: 'deny' }),
  },
  'POST /v1/runs/{id}/approval': {
    kind: 'approval.decided',
    by: 'tenant',
    path: ({ run }) => `/v1/runs/${run}/approval`,
    body: () => ({ decision: 'deny' }),
  },
  'GET /api/sessions/{id}/export': {
    kind: 'session.exported',
    by: 'tenant',
    path: ({ session }) => `/api/sessions/${session}/export?format=md`,
  },
  'GET /api/batches/{id}/results': {
    kind: 'session.exported',
    by: 'tenant',
    path: ({ batch }) => `/api/batches/${batch}/results?format=sharegpt`,
  },
  'GET /api/trajectories': { kind: 'session.exported', by: 'tenant', path: () => '/api/trajectories' },
  'POST /api/sessions/delete': {
    kind: 'session.deleted',
    by: 'tenant',
    path: () => '/api/sessions/delete',
    body: ({ spare }) => ({ ids: [spare] }),
  },
  'POST /api/keys': {
    kind: 'key.created',
    by: 'tenant',
    path: () => '/api/keys',
    body: () => ({ scopes: ['read'] }),
    keep: ({ id }) => ({ ownKey: id }),
  },
  'DELETE /api/keys/{id}': { kind: 'key.revoked', by: 'tenant', path: ({ ownKey }) => `/api/keys/${ownKey}` },
  'DELETE /api/sessions/{id}': {
    kind: 'session.deleted',
    by: 'tenant',
    path: ({ session }) => `/api/sessions/${session}`,
  },
  'POST /api/admin/keys': {
    kind: 'key.created',
    by: 'operator',
    path: () => '/api/admin/keys',
    body: ({ tenant }) => ({ tenant_id: tenant, scopes: ['read'] }),
    keep: ({ id }) => ({ newKey: id }),
  },
  'DELETE /api/admin/keys/{id}': {
    kind: 'key.revoked',
    by: 'operator',
    path: ({ newKey: id }) => `/api/admin/keys/${id}`,
  },
  'POST /api/admin/logins': {
    kind: 'login.created',
    by: 'operator',
    path: () => '/api/admin/logins',
    body: ({ tenant }) => ({ tenant_id: tenant, issuer: 'https://id.example.com', audience: 'a', scopes: ['read'] }),
    keep: ({ id }) => ({ login: id }),
  },
  'DELETE /api/admin/logins/{id}': {
    kind: 'login.deleted',
    by: 'operator',
    path: ({ login }) => `/api/admin/logins/${login}`,
  },
  'POST /api/admin/tenants': {
    kind: 'tenant.created',
    by: 'operator',
    path: () => '/api/admin/tenants',
    body: () => ({ id: 'audited', name: 'x' }),
  },
  'PATCH /api/admin/tenants/{id}': {
    kind: 'tenant.changed',
    by: 'operator',
    path: ({ tenant }) => `/api/admin/tenants/${tenant}`,
    body: () => ({ limits: { usd_per_day: 3 } }),
  },
  'POST /api/admin/tenants/{id}/rotate-key': {
    kind: 'tenant.key_rotated',
    by: 'operator',
    path: ({ tenant }) => `/api/admin/tenants/${tenant}/rotate-key`,
  },
  'GET /api/admin/tenants/{id}/export': {
    kind: 'tenant.exported',
    by: 'operator',
    path: ({ tenant }) => `/api/admin/tenants/${tenant}/export`,
  },
  'GET /api/admin/tenants/{id}/backup/rows': {
    kind: 'tenant.exported',
    by: 'operator',
    path: ({ tenant }) => `/api/admin/tenants/${tenant}/backup/rows`,
  },
  'GET /api/admin/tenants/{id}/backup/state': {
    kind: 'tenant.exported',
    by: 'operator',
    path: ({ tenant }) => `/api/admin/tenants/${tenant}/backup/state`,
  },
  'PUT /api/admin/tenants/{id}/backup/rows': {
    kind: 'tenant.restored',
    by: 'operator',
    path: ({ tenant }) => `/api/admin/tenants/${tenant}/backup/rows`,
  },
  'DELETE /api/admin/tenants/{id}': {
    kind: 'tenant.deleted',
    by: 'operator',
    path: () => '/api/admin/tenants/audited',
  },
}

/** Routes without an entry: they change the sender's own conversations and files, which history has. */
const unaudited: readonly RegExp[] = [
  // They ask the server, and store what it says. A sign-in writes its entry when it succeeds.
  /^POST \/api\/mcp\/servers\/\{alias\}\/(?:test|refresh|oauth\/start)$/,
  // A sign-in writes its entry when it succeeds (subscriptions.test.ts).
  /^POST \/api\/credentials\/oauth$/,
  // They send what happened before, once more or as a test.
  /^POST \/api\/hooks\/\{id\}\/(?:test|deliveries\/\{delivery\}\/retry)$/,
  // The consent of a person writes an entry, which connected-apps.test.ts reads. The others are calls of the app itself.
  /^POST \/oauth\/(?:authorize|register|revoke|token)$/,
  // Its tools call routes, each with its entry.
  /^\w+ \/mcp$/,
  // Adds servers, each with its entry.
  /^POST \/api\/mcp\/import$/,
  // Writes an entry when somebody was signed in (mcp-oauth.test.ts).
  /^DELETE \/api\/mcp\/servers\/\{alias\}\/oauth$/,
  /^POST \/(?:ag-ui$|a2a(?:$|\/))/,
  // Writes an entry when GitHub has taken it (publish-skill.test.ts).
  /^POST \/api\/skills\/\{name\}\/publish$/,
  /^\w+ \/v1\/(?:chat\/completions|responses|conversations|embeddings|audio|images|runs|files|uploads|models)/,
  /^\w+ \/api\/sessions(?:\/import)?$/,
  /^\w+ \/api\/sessions\/\{id\}(?:$|\/)/,
  /^POST \/api\/questions\/\{id\}$/,
  // Content of the tenant, as conversations are. A job keeps who made it, and a record of every run.
  /^\w+ \/api\/(?:learning$|memory(?:\/pending\/\{id\})?$|(?:jobs|batches)(?:$|\/))/,
  // The page signs in with a key, as every request does.
  /^\w+ \/api\/login(?:$|\/links$)/,
  // Parts of a restore, whose first part writes the entry.
  /^PUT \/api\/admin\/tenants\/\{id\}\/backup\/(?:state|sessions|blob)/,
  // Many steps, of which only the switch to another database writes an entry.
  /^POST \/api\/admin\/tenants\/\{id\}\/history$/,
  // Old text is stored elsewhere and read as before.
  /^POST \/api\/admin\/tenants\/\{id\}\/history\/cool$/,
  // A browser of the key itself.
  /^\w+ \/api\/push$/,
  // Asks a server what it has, and stores nothing.
  /^POST \/api\/settings\/models\/discover$/,
  // Reads the account of a bot.
  /^POST \/api\/channels\/\{id\}\/test$/,
  // The platform sends them.
  /^POST \/(?:webhooks|_matrix)\//,
]

let ids: Ids
afterAll(() => void vi.restoreAllMocks())
beforeAll(async () => {
  await applyMigrations()
  const pass = globalThis.fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    const isSkill = input instanceof Request && input.url === skillAddress
    return isSkill ? Promise.resolve(new Response(skill('imported'))) : pass(input, init)
  })
  serveMcp('mcp.example.org')
  const echo = readListedTool(tool('echo'))
  const hash = echo ? await sha256Hex(renderForHash(echo), 16) : ''
  const { id: tenant } = await newTenant()
  const key = await newKey(tenant, ['chat', 'read', 'write', 'jobs', 'approve'])
  const asks = calls({ id: 'c', name: 'terminal', input: { command: 'rm -rf x' } })
  const start = async () => {
    const { id } = await newSession({ model: model([asks, says('done')]).id }, key)
    await call('POST', '/v1/runs', { key, body: { input: 'go', session_id: id } })
    return until(async () => {
      const { body } = await call<{ data: { id: string; session_id: string; run_id: string }[] }>(
        'GET',
        '/api/approvals',
        { key },
      )
      return body.data.find((one) => one.session_id === id)
    })
  }
  await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' }, timezone: 'Europe/Berlin' } })
  await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'smart' } } })
  const [first, second] = [await start(), await start()]
  const [session, spare] = [(await newSession({}, key)).id, (await newSession({}, key)).id]
  const issued = await bindings.TENANT.getByName(`t/${tenant}`).pairing.check(
    ownerAuthority(),
    { platform: 'telegram', person: '7', name: 'Ada' },
    true,
  )
  const code = issued.kind === 'code' ? issued.code : ''
  const prompts = { model: model([says('done')]).id, prompts: [{ prompt: 'go' }] }
  const { body: batch } = await call<{ id: string }>('POST', '/api/batches', { key, body: prompts })
  const { id: app } = await connectApp(key)
  await vaultOf(bindings, tenant).putProfile(ownerAuthority(tenant), { name: 'work', savedAt: 1, sealed: '' })
  await call('PUT', '/api/memory', { key, body: { memory: ['An audited fact.'] } })
  const versions = await call<{ data: { id: number }[] }>('GET', '/api/memory/versions?target=memory', { key })
  const version = String(versions.body.data[0]?.id)
  ids = {
    app,
    version,
    batch: batch.id,
    tenant,
    key,
    session,
    spare,
    code,
    hash,
    approval: first.id,
    run: second.run_id,
  }
})

const list = async (kind: string, key?: string) =>
  (await call<{ data: readonly Entry[] }>('GET', `/api/audit?limit=100&kind=${kind}`, key ? { key } : {})).body.data

it.each(Object.entries(audited))('%s writes an entry', async (name, { kind, by, path, body, keep }) => {
  const key = by === 'tenant' ? ids.key : undefined
  const [before] = await list(kind, key)
  const response = await request(name.split(' ')[0] ?? '', path(ids), {
    ...(key && { key }),
    ...(body && { body: body(ids) }),
  })
  const text = await response.text()
  expect(response.status, text).toBeLessThan(300)
  if (keep) ids = { ...ids, ...keep(JSON.parse(text) as { id: string; hash: string }) }
  const entries = await until(async () => {
    const found = await list(kind, key)
    return JSON.stringify(found[0]) === JSON.stringify(before) ? undefined : found
  })
  const keyId = /^tal_([a-z2-7]{16})_/.exec(ids.key)?.[1]
  expect(entries[0]?.actor).toBe(by === 'tenant' ? `key:${keyId}` : 'key:admin')
})

it('every other route that changes something is listed with a reason', async () => {
  const changing = (await listOperations())
    .filter(({ method }) => method !== 'GET')
    .map(({ method, path }) => `${method} ${path}`)
  expect(changing.filter((name) => !audited[name] && !unaudited.some((one) => one.test(name)))).toEqual([])
  expect(Object.keys(audited).filter((name) => !name.startsWith('GET') && !changing.includes(name))).toEqual([])
})
