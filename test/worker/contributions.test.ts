/**
 * Tests that no turn acts with more than everybody may who has contributed to its conversation: every principal contributes
 * by every route and event, and then every principal begins a turn (in `npm test` one of them). A new route that is not classified fails.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import type { Authority } from '#agent/core/permission/authority.ts'
import { userText } from '#agent/core/message.ts'
import { commandTable } from '#agent/policy/slash-command/command-table.ts'
import { groupName } from '#durable/channels/gateway.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { objectOf, requestCommand, turnOf } from '../durable/support/object.ts'
import { ownerAuthority } from '../support/authority.ts'
import { allowManyUnattendedTurns } from '../support/many-unattended-turns.ts'
import { listExcess, principals } from '../support/principals.ts'
import { model, says } from '../support/scripted-model.ts'
import { applyMigrations, bindings } from './client.ts'
import { listOperations } from './document.ts'
import { isLong } from '#test/support/long.ts'

const scripted = model(() => says('Done.'))
const options = { model: scripted.id }
const tenant = { id: 'default', settings: {}, keys: {}, windows: {}, limits: {} }
const chat = { platform: 'telegram', connection: 'ch_1', chat: '11', isGroup: true } as const
const names = Object.keys(principals)
let keys = 0

/** How a route or an event contributes to a session, as the object of the session gets it. */
const ways: Readonly<Record<string, (id: string, by: Authority) => Promise<unknown>>> = {
  message: (id, authority) =>
    objectOf(id).runs.submitAndWait(requestCommand('Run make later.', { authority, options })),
  retry: async (id, authority) => {
    await ways['message']?.(id, authority)
    await objectOf(id).runs.retry(authority, `run_${++keys}`, tenant)
  },
  settings: (id, authority) => objectOf(id).info.update(authority, { settings: { instructions: 'Run make.' } }),
  'stored message': (id, authority) => objectOf(id).openaiConversation.append(authority, [userText('Run make.')]),
  file: (id, authority) => objectOf(id).files.write(authority, 'AGENTS.md', new TextEncoder().encode('Run make.')),
  'moved file': (id, authority) => objectOf(id).files.move(authority, 'there.md', 'AGENTS.md'),
  focus: async (id, authority) => {
    for (const text of ['one', 'two', 'three'])
      await objectOf(id).runs.submitAndWait(requestCommand(text, { authority: ownerAuthority(), options }))
    await objectOf(id).history.compress(authority, 'that make must be run')
  },
  'message of a chat': (id, authority) => {
    const key = `event-${++keys}`
    const asker = { person: '2', message: key }
    const sent = { kind: 'inbound', key, runId: `run_${key}`, origin: chat, asker, name: 'Ann', mode: 'queue' } as const
    return objectOf(id).inbound.submit({ ...sent, authority, text: 'Run make.', tenant } as never)
  },
  'line of a group': async (id, authority) => {
    const group = { ...chat, chat: `g${++keys}` }
    const line = { key: `line-${keys}`, line: 'Bob: run make.' }
    await tenantStub(bindings, 'default').chats.addLine(authority, groupName(group), line)
    const asker = { person: '1', message: `event-${keys}` }
    const sent = { kind: 'inbound', key: `event-${keys}`, runId: `run_g${keys}`, asker, name: 'Ann' } as const
    const more = { mode: 'queue', text: 'See above.', tenant, authority: principals['chat admin']! } as const
    await objectOf(id).inbound.submit({ ...sent, ...more, origin: group } as never)
  },
  'message that needs no answer': (id, authority) =>
    objectOf(id).injected.submit(authority, {
      key: `told-${++keys}`,
      source: 'job',
      text: 'Run make.',
      startsTurn: false,
    } as never),
}

type Way = keyof typeof ways
const none = (reason: string) => ({ reason })
const pure = none('contribution.test.ts combines the authorities, contributors.test.ts goes through the route')
const tenantWide = none('acts in all sessions: not for roles that limit (role-limits.ts), and needs its scope')
const needsScope = none('operates the tenant for all who use it: needs the scope write or approve')
const noText = none('puts no text, file or instruction into a turn')
const operator = none('only for the operator')

/** Every operation that changes something, by its whole name: a new one is in none of the lists. */
const routes: readonly (readonly [Way | { readonly reason: string }, readonly string[]])[] = [
  [
    'message',
    [
      'POST /api/sessions/{id}/chat',
      'POST /api/sessions/{id}/chat/stream',
      'POST /api/sessions/{id}/steer',
      'POST /ag-ui',
      'POST /v1/chat/completions',
      'POST /v1/responses',
      'POST /v1/runs',
      'POST /v1/runs/{id}/steer',
    ],
  ],
  ['retry', ['POST /api/sessions/{id}/retry']],
  ['settings', ['POST /api/sessions', 'PATCH /api/sessions/{id}']],
  ['stored message', ['POST /v1/conversations', 'POST /v1/conversations/{id}/items', 'POST /api/sessions/import']],
  ['file', ['PUT /api/sessions/{id}/files/{path}']],
  ['moved file', ['POST /api/sessions/{id}/files/{path}/move']],
  ['focus', ['POST /api/sessions/{id}/compress']],
  [
    pure,
    [
      'PUT /api/sessions/{id}/goal',
      'PATCH /api/sessions/{id}/goal',
      'POST /api/questions/{id}',
      'POST /api/approvals/{id}',
      'POST /v1/runs/{id}/approval',
      'POST /api/jobs',
      'PATCH /api/jobs/{id}',
      'POST /api/jobs/{id}/pause',
      'POST /api/jobs/{id}/resume',
      'POST /api/jobs/{id}/run',
      'POST /api/batches',
      'POST /api/batches/{id}/retry',
      'POST /api/webhooks',
      'PATCH /api/webhooks/{id}',
      'POST /api/webhooks/{id}/pause',
      'POST /api/webhooks/{id}/resume',
    ],
  ],
  [
    none('the sender acts with the rights of who created the webhook or of a person of the chat'),
    [
      'POST /webhooks/{platform}/{connection}',
      'POST /webhooks/{platform}/{connection}/{secret}',
      'POST /_matrix/push/v1/notify',
    ],
  ],
  [
    none('its tools are routes of this list, called with the rights of the key'),
    ['POST /mcp', 'POST /a2a', 'POST /a2a/v1/{action}', 'POST /a2a/v1/tasks/{id}'],
  ],
  [
    none('only a review reads it, with the rights of who has rated (ratings.ts)'),
    ['PUT /api/sessions/{id}/messages/{seq}/rating'],
  ],
  [
    none('sessions get them with the rights of who has written them (projects.test.ts)'),
    ['POST /api/projects', 'PATCH /api/projects/{id}', 'PUT /api/projects/{id}/files/{path}'],
  ],
  [none('a copy has the contributions of its original'), ['POST /api/sessions/{id}/fork']],
  [
    tenantWide,
    [
      'PUT /api/memory',
      'PATCH /api/memory',
      'POST /api/memory/pending/{id}',
      'POST /api/memory/versions/{id}/restore',
      'POST /api/memory/forget',
      'POST /api/learning',
      'POST /api/skills',
      'PUT /api/skills/{name}',
      'PATCH /api/skills/{name}',
      'POST /api/skills/{name}/update',
      'POST /api/skills/import',
      'POST /api/skills/{name}/publish',
      'PUT /api/skills/{name}/files/{path}',
    ],
  ],
  [
    needsScope,
    [
      'PATCH /api/settings',
      'POST /api/secrets',
      'POST /api/vault',
      'PATCH /api/vault/{entry}',
      'POST /api/credentials',
      'POST /api/credentials/oauth',
      'POST /api/keys',
      'POST /api/pairing/approve',
      'POST /api/channels',
      'PATCH /api/channels/{id}',
      'POST /api/channels/{id}/pause',
      'POST /api/channels/{id}/resume',
      'POST /api/channels/{id}/test',
      'POST /api/mcp/servers',
      'POST /api/mcp/servers/{alias}/oauth/start',
      'PATCH /api/mcp/servers/{alias}',
      'POST /api/mcp/servers/{alias}/test',
      'POST /api/mcp/servers/{alias}/refresh',
      'POST /api/mcp/servers/{alias}/approve',
      'POST /api/mcp/import',
      'POST /api/hooks',
      'PATCH /api/hooks/{id}',
      'POST /api/hooks/{id}/test',
      'POST /api/hooks/{id}/rotate',
      'POST /api/hooks/{id}/deliveries/{delivery}/retry',
      'POST /api/plugins',
      'PATCH /api/plugins/{name}',
      'POST /api/plugins/{name}/approve',
      'POST /api/plugins/{name}/pause',
      'POST /api/plugins/{name}/resume',
    ],
  ],
  [
    none('the message that names the file contributes'),
    [
      'POST /v1/files',
      'POST /v1/audio/speech',
      'POST /v1/audio/transcriptions',
      'POST /v1/images/edits',
      'POST /v1/images/generations',
      'POST /v1/embeddings',
    ],
  ],
  [
    operator,
    [
      'POST /api/admin/keys',
      'DELETE /api/admin/keys/{id}',
      'POST /api/admin/logins',
      'DELETE /api/admin/logins/{id}',
      'POST /api/admin/tenants',
      'PATCH /api/admin/tenants/{id}',
      'DELETE /api/admin/tenants/{id}',
      'POST /api/admin/tenants/{id}/history',
      'POST /api/admin/tenants/{id}/history/cool',
      'POST /api/admin/tenants/{id}/rotate-key',
      'PUT /api/admin/tenants/{id}/backup/blob',
      'PUT /api/admin/tenants/{id}/backup/rows',
      'PUT /api/admin/tenants/{id}/backup/sessions/{session}',
      'PUT /api/admin/tenants/{id}/backup/sessions/{session}/checkpoints',
      'PUT /api/admin/tenants/{id}/backup/state',
    ],
  ],
  [
    noText,
    [
      'POST /v1/responses/compact',
      'POST /v1/responses/input_tokens',
      'POST /api/login',
      'POST /api/login/links',
      'POST /oauth/authorize',
      'POST /oauth/register',
      'POST /oauth/revoke',
      'POST /oauth/token',
      'DELETE /api/apps/{id}',
      'POST /api/push',
      'POST /api/settings/models/discover',
      'POST /api/sessions/delete',
      'POST /api/sessions/{id}/previews',
      'POST /api/sessions/{id}/shares',
      'DELETE /api/sessions/{id}/shares/{share}',
      'POST /api/sessions/{id}/checkpoints',
      'POST /api/sessions/{id}/rollback',
      'POST /api/sessions/{id}/stop',
      'POST /api/sessions/{id}/undo',
      'POST /api/sessions/{id}/versions',
      'POST /v1/conversations/{id}',
      'POST /v1/responses/{id}/cancel',
      'POST /v1/runs/{id}/stop',
      'DELETE /api/channels/{id}',
      'DELETE /api/credentials/{id}',
      'DELETE /api/hooks/{id}',
      'DELETE /api/jobs/{id}',
      'POST /api/batches/{id}/cancel',
      'DELETE /api/batches/{id}',
      'DELETE /api/keys/{id}',
      'DELETE /api/login',
      'DELETE /api/mcp/servers/{alias}',
      'DELETE /api/mcp/servers/{alias}/oauth',
      'DELETE /api/pairing/{id}',
      'DELETE /api/plugins/{name}',
      'DELETE /api/projects/{id}',
      'DELETE /api/projects/{id}/files/{path}',
      'DELETE /api/push',
      'DELETE /api/secrets/{name}',
      'DELETE /api/vault/{entry}',
      'DELETE /api/browser/profiles/{profile}',
      'DELETE /api/sessions/{id}/browser/lease',
      'POST /api/sessions/{id}/browser/input',
      'DELETE /api/sessions/{id}',
      'DELETE /api/sessions/{id}/files/{path}',
      'DELETE /api/sessions/{id}/goal',
      'DELETE /api/sessions/{id}/messages/{seq}/rating',
      'DELETE /api/sessions/{id}/runs/{run}',
      'DELETE /api/skills/{name}',
      'DELETE /api/skills/{name}/files/{path}',
      'DELETE /api/webhooks/{id}',
      'DELETE /v1/conversations/{id}',
      'DELETE /v1/conversations/{id}/items/{item}',
      'DELETE /v1/files/{id}',
      'DELETE /v1/responses/{id}',
    ],
  ],
]

const events = ['message of a chat', 'line of a group', 'message that needs no answer'] as const

const commands: Readonly<Record<string, Way | { readonly reason: string }>> = {
  ...Object.fromEntries(['steer', 'queue', 'background'].map((name) => [name, 'message'])),
  retry: 'retry',
  compress: 'focus',
  ...Object.fromEntries(['goal', 'subgoal', 'heartbeat', 'loop', 'approve', 'deny'].map((name) => [name, pure])),
  memory: tenantWide,
}
/** They choose among what the tenant has, or show something. */
const choosing =
  'new sessions resume undo checkpoint rollback title fork save stop agents help status context usage insights whoami platform version model reasoning personality verbose busy footer voice approvals skills sethome pause start reload-mcp'

beforeAll(applyMigrations)
allowManyUnattendedTurns()

/** A session that its owner has begun, and that the contributor may open. */
async function begin(by: Authority): Promise<string> {
  const id = `ses_m${++keys}`
  await objectOf(id).info.create(by, { origin: chat }, tenant)
  return id
}

const excessOf = (held: Authority, name: string) => listExcess(held, principals[name]!)

let cases = 0

/** The ones who begin the next turn: in `npm test` one of them, another one after each way. */
const beginners = (name: string, nth: number): readonly string[] =>
  isLong ? names : [names[(nth + names.indexOf(name)) % names.length] ?? name]

describe.each(names)('after %s has contributed', (name) => {
  const rows = Object.keys(ways).flatMap((way, nth) => beginners(name, nth).map((begins) => ({ way, begins })))
  it.each(rows)('by a $way, a turn of a $begins has no more rights', async ({ way, begins }) => {
    const by = principals[name]!
    const id = await begin(by)
    await ways[way]?.(id, by)
    const command = requestCommand('Go on.', { authority: principals[begins]!, options })
    const ran = await objectOf(id).runs.submitAndWait(command)
    cases++
    if (!ran?.run) return
    const { authority } = (await turnOf(id)).options
    expect(authority && [...excessOf(authority, begins), ...excessOf(authority, name)]).toEqual([])
  })
})

describe('the list of contributions', () => {
  it('has every route that changes something', async () => {
    const operations = (await listOperations()).filter(({ method }) => method !== 'GET')
    const listed = operations.map(({ method, path }) => `${method} ${path}`)
    expect(routes.flatMap(([, names]) => names).toSorted()).toEqual(listed.toSorted())
    const used = new Set([...routes.map(([way]) => way), ...events])
    expect(Object.keys(ways).filter((way) => !used.has(way))).toEqual([])
  })

  it('has every command', () => {
    const known = new Set([...Object.keys(commands), ...choosing.split(' ')])
    expect(commandTable.map(({ name }) => name).filter((one) => !known.has(one))).toEqual([])
  })

  it('has enough cases, with those of contribution.test.ts', () => {
    const pairs = isLong ? names.length * names.length : names.length
    expect(cases).toBe(pairs * Object.keys(ways).length)
    const all = names.length * names.length * Object.keys(ways).length
    expect(all + 2 * names.length * names.length * 10).toBeGreaterThanOrEqual(1_500)
  })
})
