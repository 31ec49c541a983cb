/**
 * Tests that no turn acts with more than everybody may who has contributed to its conversation: every principal contributes
 * by every route and event, and then every principal begins a turn. A new route that is not classified fails.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import type { Authority } from '#agent/core/permission/authority.ts'
import { userText } from '#agent/core/message.ts'
import { commandTable } from '#agent/policy/slash-command/command-table.ts'
import { groupName } from '#durable/channels/gateway.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { objectOf, requestCommand, turnOf } from '../durable/support/object.ts'
import { ownerAuthority } from '../support/authority.ts'
import { listExcess, principals } from '../support/principals.ts'
import { model, says } from '../support/scripted-model.ts'
import { applyMigrations, bindings } from './client.ts'
import { listOperations } from './document.ts'

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
const noText = none('puts no text, file or instruction into a turn')
const operator = none('only for the operator')

/** Every operation that changes something. The first match counts. */
const routes: readonly (readonly [RegExp, Way | { readonly reason: string }])[] = [
  [/^POST \/api\/sessions\/\{id\}\/(chat|chat\/stream|steer)$/, 'message'],
  [/^POST \/v1\/(runs|chat\/completions|responses)$/, 'message'],
  [/^POST \/v1\/runs\/\{id\}\/steer$/, 'message'],
  [/^POST \/api\/sessions\/\{id\}\/retry$/, 'retry'],
  [/^(POST \/api\/sessions|PATCH \/api\/sessions\/\{id\})$/, 'settings'],
  [/^POST \/v1\/conversations(\/\{id\}\/items)?$/, 'stored message'],
  [/^POST \/api\/sessions\/import$/, 'stored message'],
  [/^PUT \/api\/sessions\/\{id\}\/files\/\{path\}$/, 'file'],
  [/^POST \/api\/sessions\/\{id\}\/files\/\{path\}\/move$/, 'moved file'],
  [/^POST \/api\/sessions\/\{id\}\/compress$/, 'focus'],
  [/^(PUT|PATCH|POST) \/api\/sessions\/\{id\}\/goal/, pure],
  [/^POST \/api\/(questions|approvals)\/\{id\}$/, pure],
  [/^POST \/v1\/runs\/\{id\}\/approval$/, pure],
  [/^(POST|PATCH|PUT) \/api\/jobs/, pure],
  [/^(POST|PATCH) \/api\/webhooks/, pure],
  [/^POST \/webhooks\//, none('the sender acts with the rights of who created the webhook or of a person of the chat')],
  [/^POST \/api\/sessions\/\{id\}\/fork$/, none('a copy has the contributions of its original')],
  [/^(POST|PUT|PATCH) \/api\/(skills|memory|settings|secrets|credentials|channels|pairing|keys)/, tenantWide],
  [/^POST \/v1\/(files|audio|images|embeddings|uploads)/, none('the message that names the file contributes')],
  [/^POST \/v1\/responses\/(compact|input_tokens)$/, noText],
  [/^(POST|PUT|PATCH|DELETE) \/api\/(admin|backup)/, operator],
  [/^DELETE /, noText],
  [/^(POST|PUT) \/api\/(login|push|sessions\/delete)/, noText],
  [
    /^POST \/(api\/sessions|v1\/(runs|responses|conversations|chat\/completions))\/\{[a-z_]+\}(\/(undo|stop|cancel|previews|rollback|.*\/rollback|.*\/stop))?$/,
    noText,
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
  'new sessions resume undo rollback title fork save stop agents help status context usage insights whoami platform version model reasoning personality verbose voice approvals skills sethome pause start'

beforeAll(applyMigrations)

/** A session that its owner has begun, and that the contributor may open. */
async function begin(by: Authority): Promise<string> {
  const id = `ses_m${++keys}`
  await objectOf(id).info.create(by, { origin: chat }, tenant)
  return id
}

const excessOf = (held: Authority, name: string) => listExcess(held, principals[name]!)

let cases = 0

describe.each(names)('after %s has contributed', (name) => {
  it.each(Object.keys(ways))('by a %s, no turn has more rights', async (way) => {
    const by = principals[name]!
    const id = await begin(by)
    await ways[way]?.(id, by)
    for (const begins of names) {
      const command = requestCommand('Go on.', { authority: principals[begins]!, options })
      const ran = await objectOf(id).runs.submitAndWait(command)
      cases++
      if (!ran?.run) continue
      const { authority } = (await turnOf(id)).options
      const excess = authority && [...excessOf(authority, begins), ...excessOf(authority, name)]
      expect([begins, excess]).toEqual([begins, []])
    }
  })
})

describe('the list of contributions', () => {
  it('has every route that changes something', async () => {
    const operations = (await listOperations()).filter(({ method }) => method !== 'GET')
    const listed = operations.map(({ method, path }) => `${method} ${path}`)
    expect(listed.filter((one) => !routes.some(([pattern]) => pattern.test(one)))).toEqual([])
    expect(routes.filter(([pattern]) => !listed.some((one) => pattern.test(one))).map(String)).toEqual([])
    const used = new Set([...routes.map(([, way]) => way), ...events])
    expect(Object.keys(ways).filter((way) => !used.has(way))).toEqual([])
  })

  it('has every command', () => {
    const known = new Set([...Object.keys(commands), ...choosing.split(' ')])
    expect(commandTable.map(({ name }) => name).filter((one) => !known.has(one))).toEqual([])
  })

  it('has enough cases, with those of contribution.test.ts', () => {
    expect(cases).toBe(names.length * names.length * Object.keys(ways).length)
    expect(cases + 2 * names.length * names.length * 10).toBeGreaterThanOrEqual(1_500)
  })
})
