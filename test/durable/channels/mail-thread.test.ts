/** Tests that everything that answers a mail stands in its thread, under its subject. */

import { deliverMail } from '../support/mail.ts'
import { beforeAll, expect, it } from 'vitest'
import { getSessionId, listOutbox } from '../../support/chat.ts'
import { calls, model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call } from '../../worker/client.ts'

beforeAll(applyMigrations)

const root = '<root@x.test>'
let mails = 0

async function receiveMail(to: string, text: string): Promise<void> {
  const place = mails++ ? [`Message-ID: <${mails}@x.test>`, `References: ${root}`] : [`Message-ID: ${root}`]
  await deliverMail(to, ['Subject: Report', ...place], text)
}

type SentRow = { readonly kind: string; readonly replyHandle?: { readonly token: string } }

it('an approval, the confirmation of a further mail and the answer of a command carry the subject of their mail', async () => {
  const address = 'threads@talaria.test'
  const replies = [calls({ name: 'terminal', input: { command: 'echo x' } }), says('Done.')]
  const rules = [{ do: 'ask', tool: 'terminal' }]
  const settings = { model: { default: model(replies).id }, approvals: { mode: 'manual', rules } }
  await call('PATCH', '/api/settings', { body: settings })
  const { status, body } = await call<{ id: string }>('POST', '/api/channels', {
    body: {
      platform: 'email',
      secrets: {},
      settings: { address, allow_users: ['anna@x.test'], busy_mode: 'queue', busy_notice: true },
    },
  })
  expect(status).toBe(201)
  await receiveMail(address, 'go')
  const session = await getSessionId({ channel: body.id }, 'anna@x.test', root)
  const rows = async () => (await listOutbox(session)).map((row) => JSON.parse(row.body) as SentRow)
  await until(async () => (await rows()).length === 1)
  await receiveMail(address, 'and this')
  await receiveMail(address, '/status')
  await until(async () => (await rows()).length === 3)
  const sent = await rows()
  expect(sent.map(({ kind }) => kind)).toEqual(['ask', 'notice', 'notice'])
  for (const { replyHandle } of sent) expect(replyHandle?.token).toContain('"subject":"Report"')
})
