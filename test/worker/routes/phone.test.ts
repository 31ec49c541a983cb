/** Takes telephone calls from the webhook of the carrier to the words that are spoken. */

import { runDurableObjectAlarm, runInDurableObject, SELF } from 'cloudflare:test'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { itInTurn } from '#test/support/long.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { computeHmac } from '#channels/hmac.ts'
import { createChat, receiveMessage } from '../../support/chat.ts'
import { calls, Gate, model, type Reply, says, until } from '../../support/scripted-model.ts'
import { createTwilioApi, signTwilioForm } from '../../support/twilio-api.ts'
import { cameTo, disarm, hangAt, watchFailpoints } from '../../durable/chaos/passing.ts'
import { applyMigrations, bindings, call, newTenant, request } from '../client.ts'

beforeAll(applyMigrations)
watchFailpoints()

const caller = '+15550002222'

type Frame = { readonly type: string; readonly token?: string; readonly last?: boolean }

async function createPhone(replies: readonly Reply[], settings: object = {}) {
  const { id: tenant, key } = await newTenant()
  const twilio = createTwilioApi()
  const scripted = model(replies)
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id } } })
  const secrets = { account_sid: twilio.sid, auth_token: twilio.token, from: '+15550001111' }
  const body = { platform: 'phone', secrets, settings: { allow_users: [caller], ...settings } }
  const made = await call<{ id: string; webhook_url: string }>('POST', '/api/channels', { key, body })
  expect(made.status).toBe(201)
  const { id, webhook_url: webhookUrl } = made.body
  const sign = async (url: string) => ({
    'x-twilio-signature': encodeBase64Bytes(await computeHmac('SHA-1', twilio.token, new TextEncoder().encode(url))),
  })
  const ring = async (callSid: string, from = caller, more: object = {}) => {
    const fields = { CallSid: callSid, From: from, ...more }
    const form = new TextEncoder().encode(new URLSearchParams(fields).toString())
    const headers = await signTwilioForm(webhookUrl, form, twilio.token)
    const answer = await request('POST', `/webhooks/phone/${id}`, { key: null, body: form, headers })
    const text = await answer.text()
    return { status: answer.status, text, url: /url="([^"]+)"/.exec(text)?.[1] ?? '' }
  }
  const shake = async (url: string, headers: Readonly<Record<string, string>>) =>
    SELF.fetch(url.replace(/^wss/, 'https'), { headers: { upgrade: 'websocket', ...headers } })
  const dial = async (callSid: string, more: object = {}) => {
    const { url } = await ring(callSid, caller, more)
    const { webSocket } = await shake(url, await sign(url))
    if (!webSocket) throw new Error('There is no socket.')
    return converse(webSocket, callSid, more)
  }
  const messages = async () => {
    const [session] = (await call<{ data: { id: string }[] }>('GET', '/api/sessions', { key })).body.data
    const path = `/api/sessions/${session?.id}/messages`
    return (await call<{ data: { role: string; content: unknown }[] }>('GET', path, { key })).body.data
  }
  return { key, id, tenant, twilio, ring, shake, sign, dial, scripted, messages }
}

/** `isOurs`: the agent has called. */
function converse(
  socket: WebSocket,
  callSid: string,
  { Direction: direction = 'inbound' }: { readonly Direction?: string },
) {
  const frames: Frame[] = []
  socket.addEventListener('message', ({ data }) => void frames.push(JSON.parse(String(data)) as Frame))
  socket.accept()
  const send = (frame: object) => socket.send(JSON.stringify(frame))
  const [from, to] = direction === 'inbound' ? [caller, '+15550001111'] : ['+15550001111', caller]
  send({ type: 'setup', callSid, from, to, direction })
  const spoken = () => frames.flatMap(({ token = '' }) => token).join('')
  return {
    frames,
    socket,
    send,
    spoken,
    say: (voicePrompt: string) => send({ type: 'prompt', voicePrompt, last: true }),
  }
}

const isOver = ({ frames }: { readonly frames: readonly Frame[] }) => frames.some(({ last }) => last === true)

describe('a call', () => {
  it('reaches only listed callers, and its socket only the carrier', async () => {
    const { ring, shake, sign } = await createPhone([], { greeting: 'Hello' })
    const { status, text, url } = await ring('CA1')
    expect([status, text]).toEqual([200, expect.stringContaining('welcomeGreeting="Hello"')])
    expect((await ring('CA2', '+15559999999')).text).toContain('<Reject/>')
    const other = (await ring('CA3')).url
    for (const headers of [{}, { 'x-twilio-signature': 'x' }, await sign(other)])
      expect((await shake(url, headers)).status).toBe(401)
    expect((await shake(`${url}0`, await sign(`${url}0`))).status).toBe(401)
  })

  it('speaks the answer while it comes, and goes on with a new socket of the same call', async () => {
    const { dial, scripted, messages } = await createPhone([says('It is **sunny**.'), says('Still.')])
    const first = await dial('CA10')
    first.send({ type: 'prompt', voicePrompt: 'How is', last: false })
    first.say('How is the weather?')
    await until(() => isOver(first))
    expect([first.spoken(), first.frames.at(-1)]).toEqual(['It is sunny.', { type: 'text', token: '', last: true }])
    const second = await dial('CA10')
    second.say('And now?')
    await until(() => isOver(second))
    expect(second.spoken()).toBe('Still.')
    expect(scripted.requests).toHaveLength(2)
    expect((await messages()).filter(({ role }) => role === 'user')).toHaveLength(2)
  })

  it('forgets the caller some hours after the call', async () => {
    const { dial, id, tenant } = await createPhone([says('Bye.')])
    const talk = await dial('CA15')
    talk.say('Bye')
    await until(() => isOver(talk))
    const stub = bindings.CONNECTION!.getByName(`t/${tenant}/p/${id}/CA15`)
    talk.socket.close(1000)
    await until(() => runInDurableObject(stub, (_object, { storage }) => storage.getAlarm()))
    const clock = createSkippingClock()
    replaceClock(clock)
    onTestFinished(() => replaceClock())
    clock.pass(5 * 3_600_000)
    await runDurableObjectAlarm(stub)
    expect(await runInDurableObject(stub, (_object, { storage }) => storage.kv.get('call'))).toBeUndefined()
  })

  it('stops at an interruption, and keeps what was heard', async () => {
    const { dial, messages, scripted } = await createPhone([says('One two three. Four five six.'), says('Fine.')])
    const talk = await dial('CA20')
    talk.say('Count')
    await until(() => isOver(talk))
    talk.send({ type: 'interrupt', utteranceUntilInterrupt: 'One two three', durationUntilInterruptMs: 900 })
    talk.say('Enough')
    await until(() => talk.spoken().includes('Fine.'))
    expect(JSON.stringify(scripted.requests[1]?.messages)).not.toContain('Four')
    expect(JSON.stringify(await messages())).toMatch(/One two three\./)
    expect(JSON.stringify(await messages())).not.toContain('Four')
  })

  it('an interruption ends the turn that is still speaking', async () => {
    const gate = new Gate()
    const [text = ''] = says('One two three. Four five six.') as readonly string[]
    const { dial, messages } = await createPhone([[text.slice(0, text.indexOf('Four')), gate], says('Fine.')])
    const talk = await dial('CA21')
    talk.say('Count')
    await gate.waitUntilReached()
    talk.send({ type: 'interrupt', utteranceUntilInterrupt: '' })
    talk.say('Enough')
    await until(() => talk.spoken().includes('Fine.'))
    gate.open()
    expect(JSON.stringify(await messages())).not.toContain('Four')
  })

  it('an interrupted greeting cuts no answer of an earlier call', async () => {
    const { dial, messages } = await createPhone([says('One two three.'), says('Fine.')], { greeting: 'Hello' })
    const first = await dial('CA22')
    first.say('Count')
    await until(() => isOver(first))
    const second = await dial('CA23')
    second.send({ type: 'interrupt', utteranceUntilInterrupt: '' })
    second.say('Again')
    await until(() => isOver(second))
    expect(JSON.stringify(await messages())).toContain('One two three.')
  })

  itInTurn('asks before a call of a tool, and a key decides', async () => {
    const run = calls({ name: 'terminal', input: { command: 'echo x' } })
    const { dial, key } = await createPhone([run, says('It ran.')])
    const rules = [{ do: 'ask', tool: 'terminal', match: '*' }]
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual', rules } } })
    const talk = await dial('CA30')
    talk.say('Run it')
    await until(() => talk.spoken().includes('May I call terminal? Press 1: allow it once.'))
    talk.send({ type: 'dtmf', digit: '1' })
    talk.send({ type: 'dtmf', digit: '#' })
    await until(() => isOver(talk) && talk.spoken().includes('It ran.'))
    expect(talk.spoken()).toContain('It ran.')
  })

  it('continues the direct chat of another channel', async () => {
    const { key, dial, id } = await createPhone([])
    const chat = await createChat([says('Noted.'), says('Apples.')], { allow_users: ['11'] }, key)
    const settings = { chats_of: chat.channel, same_person: [['11', caller]] }
    await call('PATCH', `/api/channels/${id}`, { key, body: { settings } })
    await receiveMessage(chat, 'I like apples')
    await until(() => chat.api.messageTexts.includes('Noted.'))
    const talk = await dial('CA40')
    talk.say('What do I like?')
    await until(() => isOver(talk))
    expect(talk.spoken()).toBe('Apples.')
    expect(JSON.stringify(chat.scripted.requests[1]?.messages)).toContain('I like apples')
    await until(() => chat.api.messageTexts.includes('Apples.'))
  })
})

describe('a call that the agent makes', () => {
  const order = { number: '+1 555 000 2222', brief: 'Ask whether tea is left.', opening: 'Hello, it is me.' }

  /** Runs a turn that calls, in a session whose model has its own replies. */
  async function orderCall(phone: Awaited<ReturnType<typeof createPhone>>, input: object, approvals: object) {
    const { key } = phone
    await call('PATCH', '/api/settings', { key, body: { plugins: { enabled: ['send_message'] }, approvals } })
    const ordering = model([calls({ name: 'place_call', input }), says('I call them.'), says('There is tea.')])
    const made = await call<{ id: string }>('POST', '/api/sessions', { key, body: { model: ordering.id } })
    const chat = `/api/sessions/${made.body.id}/chat`
    const answer = await call<{ run_id: string }>('POST', chat, { key, body: { input: 'Ask about tea' } })
    return { ordering, session: made.body.id, answer }
  }

  const placedIn = ({ twilio }: Awaited<ReturnType<typeof createPhone>>) => twilio.api.callsTo(/Calls\.json/)

  it('follows its brief, presses keys, and reports when it has ended', async () => {
    const phone = await createPhone([says('Is there *tea*? [press 1#] Thanks.')], { greeting: 'Not this.' })
    const { ordering } = await orderCall(phone, order, { mode: 'off' })
    const [placed] = placedIn(phone)
    expect(placed?.body).toMatchObject({
      To: caller,
      From: '+15550001111',
      Url: expect.stringContaining('/webhooks/phone/'),
    })
    const outbound = { Direction: 'outbound-api', From: '+15550001111', To: caller }
    const talk = await phone.dial(placedSid(phone), outbound)
    await until(() => talk.spoken().includes('Hello, it is me.'))
    talk.say('Who is it?')
    await until(() => talk.spoken().includes('Thanks.'))
    expect(talk.frames).toContainEqual({ type: 'sendDigits', digits: '1#' })
    expect(talk.spoken()).not.toContain('press')
    expect(JSON.stringify(phone.scripted.requests[0]?.messages)).toMatch(
      /Your task: Ask whether tea is left\..*Who is it\?/,
    )
    await until(() => isOver(talk))
    talk.socket.close(1000)
    const stub = callOf(phone, placedSid(phone))
    await until(() => runInDurableObject(stub, (_object, { storage }) => storage.getAlarm()))
    await runDurableObjectAlarm(stub)
    await until(() => ordering.requests.length === 3)
    const report = JSON.stringify(ordering.requests[2]?.messages)
    expect(report).toMatch(/Your call to \+15550002222 has ended.*They: Who is it\?.*You: Is there \*tea\*\?/)
    expect(await runDurableObjectAlarm(stub)).toBe(true)
    expect(ordering.requests).toHaveLength(3)
  })

  it('reports when nobody answers', async () => {
    const phone = await createPhone([])
    const { ordering } = await orderCall(phone, order, { mode: 'off' })
    await runDurableObjectAlarm(callOf(phone, placedSid(phone)))
    await until(() => ordering.requests.length === 3)
    expect(JSON.stringify(ordering.requests[2]?.messages)).toContain('Nobody answered.')
  })

  it('keeps its brief when the object dies between the call and its order, and says it once', async () => {
    const phone = await createPhone([says('Is there tea?')])
    hangAt('call-placed')
    void orderCall(phone, order, { mode: 'off' })
    await cameTo('call-placed')
    disarm()
    const talk = await phone.dial(placedSid(phone), { Direction: 'outbound-api', From: '+15550001111', To: caller })
    await until(() => talk.spoken().includes('Hello, it is me.'))
    talk.say('Who is it?')
    await until(() => talk.spoken().includes('Is there tea?'))
    expect(JSON.stringify(phone.scripted.requests[0]?.messages)).toContain('Your task: Ask whether tea is left.')
    expect(talk.spoken().split('Hello, it is me.')).toHaveLength(2)
    const waiting = callOf(phone, encodeURIComponent(`to:${caller}`))
    expect(await waiting.waitingOrder(false)).toBeUndefined()
  })

  it('keeps its brief when the answer of the carrier is lost', async () => {
    const phone = await createPhone([says('Is there tea?')])
    phone.twilio.api.overrideNext('lost')
    const { ordering } = await orderCall(phone, order, { mode: 'off' })
    expect(JSON.stringify(ordering.requests[1]?.messages)).not.toContain('broke')
    const talk = await phone.dial(placedSid(phone), { Direction: 'outbound-api', From: '+15550001111', To: caller })
    await until(() => talk.spoken().includes('Hello, it is me.'))
    talk.say('Who is it?')
    await until(() => talk.spoken().includes('Is there tea?'))
    expect(JSON.stringify(phone.scripted.requests[0]?.messages)).toContain('Your task: Ask whether tea is left.')
    expect(placedIn(phone)).toHaveLength(1)
  })

  it('is ordered by a person in a chat only where that person is an admin', async () => {
    const phone = await createPhone([])
    const { key } = phone
    await call('PATCH', '/api/settings', {
      key,
      body: { plugins: { enabled: ['send_message'] }, approvals: { mode: 'off' } },
    })
    const ordering = calls({ name: 'place_call', input: order })
    const chat = await createChat([ordering, says('No.'), ordering, says('Calling.')], { admins: ['11'] }, key)
    const bert = { id: 12, is_bot: false, first_name: 'Bert' }
    await receiveMessage(chat, 'Call', { from: bert, chat: { id: 12, type: 'private' } })
    await chat.api.waitForText('No.')
    expect(JSON.stringify(chat.scripted.requests[1]?.messages)).toContain('Only an admin of this channel')
    expect(placedIn(phone)).toHaveLength(0)
    await receiveMessage(chat, 'Call')
    await chat.api.waitForText('Calling.')
    expect(placedIn(phone)).toHaveLength(1)
  })

  it('is made only after an approval, and only to listed numbers that the carrier accepts', async () => {
    const phone = await createPhone([], { allow_users: [caller, '+15550002220'] })
    const asking = orderCall(phone, order, { mode: 'manual' })
    const pending = async () =>
      (await call<{ data: { id: string; tool: string }[] }>('GET', '/api/approvals', { key: phone.key })).body.data
    await until(async () => (await pending()).length > 0)
    const [request] = await pending()
    expect([request?.tool, placedIn(phone).length]).toEqual(['place_call', 0])
    await call('POST', `/api/approvals/${request?.id}`, { key: phone.key, body: { decision: 'once' } })
    await asking
    expect(placedIn(phone)).toHaveLength(1)
    for (const [number, reason] of [
      ['+15550009999', 'in allow_users of no telephone channel'],
      ['+15550002220', 'The phone number is not valid.'],
    ]) {
      const { ordering } = await orderCall(phone, { ...order, number }, { mode: 'off' })
      expect(JSON.stringify(ordering.requests[1]?.messages)).toContain(reason)
    }
  })

  const placedSid = ({ twilio }: Awaited<ReturnType<typeof createPhone>>): string => `CAplaced-${twilio.sid}-1`

  const callOf = ({ tenant, id }: Awaited<ReturnType<typeof createPhone>>, callSid: string) =>
    bindings.CONNECTION!.getByName(`t/${tenant}/p/${id}/${callSid}`)
})
