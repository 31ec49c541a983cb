/** Tests approvals and questions on WhatsApp, which has little room for a text above buttons and for their labels. */

import { beforeAll, expect, it } from 'vitest'
import { computeHmac } from '#channels/hmac.ts'
import { calls, model, says, until } from '../../support/scripted-model.ts'
import { createWhatsappApi } from '../../support/whatsapp-api.ts'
import { applyMigrations, call, newTenant, request } from '../../worker/client.ts'
import { toHex } from '#durable/platform/hash.ts'

beforeAll(applyMigrations)

const person = '15550002222'

type Shown = {
  readonly body: { readonly text: string }
  readonly action: {
    readonly buttons?: readonly { readonly reply: { readonly id: string; readonly title: string } }[]
    readonly sections?: readonly { readonly rows: readonly { readonly id: string; readonly title: string }[] }[]
  }
}

async function createPhone(tool: { readonly name: string; readonly input: object }) {
  const { key } = await newTenant()
  const { api, token } = createWhatsappApi()
  const scripted = model([calls({ id: 'c1', ...tool }), says('Done.')])
  const settings = { model: { default: scripted.id }, approvals: { mode: 'manual' } }
  await call('PATCH', '/api/settings', { key, body: settings })
  const { body } = await call<{ id: string }>('POST', '/api/channels', {
    key,
    body: {
      platform: 'whatsapp',
      secrets: { access_token: token, app_secret: 'app', verify_token: 'verify', phone_number_id: 'PNID' },
      settings: { allow_users: [person] },
    },
  })
  const receive = async (id: string, fields: object) => {
    const value = { metadata: { phone_number_id: 'PNID' }, contacts: [], messages: [{ id, from: person, ...fields }] }
    const bytes = new TextEncoder().encode(
      JSON.stringify({ object: 'whatsapp_business_account', entry: [{ changes: [{ field: 'messages', value }] }] }),
    )
    const signature = toHex(await computeHmac('SHA-256', 'app', bytes))
    const headers = { 'x-hub-signature-256': `sha256=${signature}` }
    const answer = await request('POST', `/webhooks/whatsapp/${body.id}`, { key: null, body: bytes, headers })
    expect(answer.status).toBe(200)
  }
  await receive('wamid.1', { type: 'text', text: { body: 'go' } })
  const { body: asked } = await until(() => api.callsTo('/messages').find((sent) => sent.body['interactive']))
  const press = (id: string, title: string) =>
    receive('wamid.2', { type: 'interactive', interactive: { type: 'button_reply', button_reply: { id, title } } })
  return { api, scripted, shown: asked['interactive'] as Shown, press }
}

it('shows the whole of a long call before its buttons', async () => {
  const command = `rm -rf important && echo ${Array.from({ length: 400 }, (_, n) => `word${n}`).join(' ')}`
  const { api, shown, scripted, press } = await createPhone({ name: 'terminal', input: { command } })
  expect(api.texts.join(' ').replace(/\s+/g, ' ')).toContain(command)
  expect(api.texts.at(-1)).toBe(shown.body.text)
  expect(shown.body.text.length).toBeLessThanOrEqual(1_024)
  const replies = (shown.action.buttons ?? []).map(({ reply }) => reply)
  expect(replies.map(({ title }) => title)).toEqual(['Allow once', 'Allow in session', 'Deny'])
  await press(replies[2]?.id ?? '', 'Deny')
  await until(() => api.texts.includes('Done.'))
  expect(JSON.stringify(scripted.requests[1]?.messages)).toMatch(/denied/i)
})

it('lists choices that do not fit on buttons', async () => {
  const choices = ['Yes', 'Only the files of the last week', 'Only the files of the last month']
  const question = { name: 'clarify', input: { question: 'Delete them?', choices } }
  const { shown, scripted, press } = await createPhone(question)
  expect(shown.body.text).toBe(
    `Delete them?\n\n${choices.map((choice, n) => `${n + 1}. ${choice}`).join('\n')}\n\nPress a button, or write an answer.`,
  )
  const replies = (shown.action.buttons ?? []).map(({ reply }) => reply)
  expect(replies.map(({ title }) => title)).toEqual(['1', '2', '3'])
  await press(replies[1]?.id ?? '', '2')
  await until(() => scripted.requests.length === 2)
  expect(JSON.stringify(scripted.requests[1]?.messages)).toContain(choices[1])
})
