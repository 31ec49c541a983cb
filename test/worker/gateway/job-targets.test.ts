/** Tests what the session knows about its chat when the result of a job begins it. */

import { runInDurableObject } from 'cloudflare:test'
import { beforeAll, expect, it } from 'vitest'
import type { SessionDO } from '#durable/session/session-object.ts'
import { chatSessionId } from '#durable/tenant/jobs/chat-session.ts'
import { model, says, until } from '../../support/scripted-model.ts'
import { createSlackChat } from '../../support/slack-chat.ts'
import { applyMigrations, bindings, call, newTenant } from '../client.ts'

beforeAll(applyMigrations)

it.each([
  ['C11', true],
  ['D11', false],
])('the chat %s of Slack is a group: %j', async (chat, isGroup) => {
  const { id: tenant, key } = await newTenant()
  const { api, channel } = await createSlackChat(key)
  const scripted = model(() => says('The report.'))
  const job = { name: 'r', prompt: 'report', schedule: 'every 9h', deliver: `slack:${chat}`, model: scripted.id }
  const { body } = await call<{ id: string }>('POST', '/api/jobs', { key, body: job })
  await call('POST', `/api/jobs/${body.id}/run`, { key, body: {} })
  await until(() => api.texts.some((text) => text.includes('The report.')))
  const stub = bindings.SESSION.getByName(`t/${tenant}/s/${await chatSessionId(channel, { chat })}`)
  const stored = await runInDurableObject<SessionDO, string>(stub, (_object, { storage: { sql } }) => {
    const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray()
    const rows = tables
      .filter(({ name }) => !name.startsWith('_'))
      .map(({ name }) => sql.exec(`SELECT * FROM "${name}"`).toArray())
    return JSON.stringify(rows).replaceAll('\\', '')
  })
  expect(stored).toContain(`"isGroup":${isGroup}`)
  expect(stored).not.toContain(`"isGroup":${!isGroup}`)
})
