/** Tests that a question on Slack stands in the message of the progress, which goes on there whoever decides, and how. */

import { afterEach, beforeAll, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import { getSessionId } from '../../support/chat.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { calls, Gate, model, type Reply, type ReplyPart, says, until } from '../../support/scripted-model.ts'
import { createSlackChat } from '../../support/slack-chat.ts'
import { adminKey, applyMigrations, call } from '../../worker/client.ts'
import { kill } from '../support/object.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

const run = (command: string) => calls({ name: 'terminal', input: { command } })
const question = 'May terminal be called with this?'
let sent = 0

type Block = { readonly elements?: readonly { readonly value: string; readonly text: { readonly text: string } }[] }

/** `beforeAsked` runs once the first message is shown. */
async function createCard(replies: readonly Reply[], settings: object = {}, beforeAsked?: () => void) {
  // The objects that tests kill are those of the default tenant.
  const key = adminKey
  const scripted = model(replies)
  const rules = [{ do: 'ask', tool: 'terminal', match: '*asked*' }]
  await call('PATCH', '/api/settings', {
    key,
    body: { model: { default: scripted.id }, approvals: { mode: 'manual', rules } },
  })
  const { api, channel, post, send } = await createSlackChat(key, { progress: 'all', ...settings })
  const write = (text: string) => send({ channel: 'D1', channel_type: 'im', ts: `${++sent}.1`, text })
  await write('go')
  if (beforeAsked) await until(() => api.messages.size > 0)
  beforeAsked?.()
  const calledWith = (method: string) =>
    api.calls.filter(({ path }) => path === `/api/${method}`).map(({ body }) => body)
  const buttonsOf = ({ blocks = [] }: { blocks?: readonly Block[] }) => blocks.flatMap(({ elements = [] }) => elements)
  const [asked, buttons] = await until(() => {
    const all = [...calledWith('chat.postMessage'), ...calledWith('chat.update')]
    const found = all.find((body) => buttonsOf(body).length)
    return found && ([found, buttonsOf(found)] as const)
  })
  const press = async (label: string) => {
    const { value } = buttons.find(({ text }) => text.text === label) ?? { value: '' }
    const payload = {
      type: 'block_actions',
      trigger_id: `t${++sent}`,
      response_url: 'https://slack.test/response/p1',
      user: { id: 'U1', name: 'ada' },
      channel: { id: 'D1' },
      message: { ts: shown()[0] },
      actions: [{ value }],
    }
    await post(new URLSearchParams({ payload: JSON.stringify(payload) }).toString())
  }
  /** The messages of the chat: ids and texts. */
  const shown = () => [...api.messages.keys()]
  const texts = () => [...api.messages.values()]
  const session = await getSessionId({ channel }, 'D1')
  return { api, asked, press, write, shown, texts, session, calledWith, buttonsOf, scripted }
}

const threeCalls = [run('echo first'), run('echo asked'), run('echo last'), says('Done.')]

it('asks within the message of the progress, which goes on after the press', async () => {
  const { press, shown, texts, calledWith, buttonsOf } = await createCard(threeCalls)
  expect(shown()).toHaveLength(1)
  expect(texts()[0]?.startsWith(`✓ terminal: echo first\n▸ terminal: echo asked\n\n${question}\n\n`)).toBe(true)
  await press('Allow once')
  await until(() => texts().includes('Done.'))
  await until(() => texts()[0]?.includes('echo last'))
  expect(shown()).toHaveLength(2)
  await until(
    () =>
      texts()[0] ===
      ['✓ terminal: echo first', '✓ terminal: echo asked', '→ allowed', '✓ terminal: echo last'].join('\n'),
  )
  expect(buttonsOf(calledWith('chat.update').at(-1) ?? {})).toEqual([])
  const before = calledWith('chat.update').length
  await press('Allow once')
  expect(calledWith('chat.update')).toHaveLength(before)
})

it('keeps the message and its buttons over a restart', async () => {
  const { press, shown, texts, session } = await createCard(threeCalls)
  await kill(session)
  await press('Deny')
  await until(() => texts().includes('Done.'))
  await until(() => texts()[0]?.includes('echo last'))
  expect(shown()).toHaveLength(2)
  expect(texts()[0]).toBe('✓ terminal: echo first\n• terminal: echo asked\n→ denied\n✓ terminal: echo last')
})

it('shows a call once that begins again after a restart', async () => {
  const { press, shown, texts, session } = await createCard(threeCalls)
  await kill(session)
  await press('Allow once')
  await until(() => texts().includes('Done.'))
  await until(() => texts()[0]?.includes('✓ terminal: echo last'))
  expect(shown()).toHaveLength(2)
  expect(texts()[0]).toBe('✓ terminal: echo first\n✓ terminal: echo asked\n→ allowed\n✓ terminal: echo last')
})

it('is ended by a typed decision too, and begins with the call that asks where none came before it', async () => {
  const { write, shown, texts } = await createCard([run('echo asked'), run('echo last'), says('Done.')])
  expect(texts()[0]).toContain(question)
  await write('!approve')
  await until(() => texts().includes('Done.'))
  await until(() => texts()[0]?.endsWith('✓ terminal: echo last'))
  expect(shown()).toHaveLength(2)
  expect(texts()[0]).toBe('✓ terminal: echo asked\n→ allowed\n✓ terminal: echo last')
})

itInTurn('is ended when a message interrupts the turn', async () => {
  const { write, texts } = await createCard([run('echo first'), run('echo asked'), says('Other.')])
  await write('something else')
  await until(() => texts().includes('Other.'))
  await until(() => texts()[0]?.endsWith('→ denied'))
  expect(texts()[0]).toMatch(/^✓ terminal: echo first\n. terminal: echo asked\n→ denied$/)
})

itInTurn('shows a question with choices, and what follows its answer', async () => {
  const clarify = calls({ name: 'clarify', input: { question: 'Which colour?', choices: ['red', 'blue'] } })
  const { press, shown, texts, scripted } = await createCard([
    run('echo first'),
    clarify,
    run('echo last'),
    says('Done.'),
  ])
  expect(texts()[0]).toBe(
    '✓ terminal: echo first\n▸ clarify: Which colour?\n\nWhich colour?\n\nPress a button, or write an answer.',
  )
  await press('blue')
  await until(() => texts()[0]?.endsWith('✓ clarify: Which colour?\n→ answered\n✓ terminal: echo last'))
  expect(JSON.stringify(scripted.requests.at(-1)?.messages)).toContain('blue')
  expect(shown()).toHaveLength(2)
})

it('asks in a message of its own without progress, and after two minutes, because an edit tells nobody', async () => {
  const without = await createCard([run('echo first'), run('echo asked'), says('Done.')], { progress: 'off' })
  expect(without.asked['ts']).toBeUndefined()
  await without.press('Allow once')
  await until(() => without.texts().some((text) => text.endsWith('→ once')))
  const clock = createSkippingClock()
  replaceClock(clock)
  const gate = new Gate()
  const late = [gate, ...(run('echo asked') as readonly ReplyPart[])]
  const { shown } = await createCard([run('echo first'), late], {}, () => {
    clock.pass(121_000)
    gate.open()
  })
  expect(shown()).toHaveLength(2)
})
