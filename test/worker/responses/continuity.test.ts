/** Tests that responses without a session or a previous response find their session by the words of their input. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, Gate, listTexts, model, says, type Script } from '../../support/scripted-model.ts'
import { alike, fileOf, untilRecorded, write, writing } from '../chat-program.ts'
import { applyMigrations, call, newTenant, request } from '../client.ts'

beforeAll(applyMigrations)

type Item = { readonly type?: string; readonly role?: string; readonly [more: string]: unknown }
type Sent = { readonly output: readonly Item[]; readonly model: string }
const user = (content: string): Item => ({ role: 'user', content })
const assistant = (text: string): Item => ({ role: 'assistant', content: [{ type: 'output_text', text }] })
const weather = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } }

/** A program that keeps the items of all answers and sends them with each request. */
async function programOf(modelId: string, fields: object = {}, given?: string) {
  const key = given ?? (await newTenant()).key
  const items: Item[] = []
  const post = async (input: readonly Item[], headers: Record<string, string> = {}) => {
    const body = { model: modelId, input, ...fields }
    const answer = await call<Sent>('POST', '/v1/responses', { key, body, headers })
    expect(answer.status).toBe(200)
    const session = answer.headers.get('x-talaria-session-id') ?? ''
    const run = answer.headers.get('x-talaria-run-id')
    return { session, run, output: answer.body.output }
  }
  const send = async (...added: readonly Item[]) => {
    items.push(...added)
    const answer = await post(items)
    items.push(...answer.output)
    return answer
  }
  return { key, items, post, send }
}

describe('a response without a session or a previous response', () => {
  it('goes on in the session that said what its input repeats, which gets only the new message', async () => {
    const scripted = model([
      calls({ id: 'w1', ...write('a.txt', 'one') }),
      says('Written.'),
      says('Yes.'),
      says('Still.'),
    ])
    const { key, send } = await programOf(scripted.id)
    const first = await send(user('write'))
    const second = await send(user('there?'))
    expect(second.session).toBe(first.session)
    expect(listTexts(scripted.requests[2] as never)).toEqual([
      'user: write',
      'assistant: → write_file',
      expect.stringContaining('tool: '),
      'assistant: Written.',
      'user: there?',
    ])
    expect(await fileOf(second.session, 'a.txt', key)).toBe('one')
    expect((await send(user('still?'))).session).toBe(first.session)
  })

  it('goes on after calls of the client, whose ids name the session', async () => {
    const script: Script = ({ messages }) => {
      const asked = messages.at(-1)?.role === 'user' && String(messages.at(-1)?.content).includes('weather')
      return asked ? calls({ id: 'c1', name: 'get_weather', input: {} }) : says('Sunny.')
    }
    const { id } = model(script)
    const fields = { tools: [weather] }
    const one = await programOf(id, fields)
    const other = await programOf(id, fields, one.key)
    // The same words, ids and answers in two sessions: each goes on in its own.
    for (const { send } of [one, other]) {
      const asked = await send(user('weather?'))
      const call_id = asked.output.find(({ type }) => type === 'function_call')?.['call_id']
      const told = await send({ type: 'function_call_output', call_id, output: 'sunny' })
      const next = await send(user('and tomorrow?'))
      expect([told.session, next.session]).toEqual([asked.session, asked.session])
    }
    const last = await one.send(user('and then?'))
    expect((await other.send(user('and then?'))).session).not.toBe(last.session)
  })

  it('shares its conversations with chat completions', async () => {
    const id = alike({})
    const { key, send } = await programOf(id)
    const first = await send(user('one'))
    const messages = [user('one'), { role: 'assistant', content: 'Yes.' }, user('two')]
    const next = await call('POST', '/v1/chat/completions', { key, body: { model: id, messages } })
    expect(next.headers.get('x-talaria-session-id')).toBe(first.session)
  })

  it('branches where an earlier message was edited, with the files of that point', async () => {
    const id = alike({ one: writing('a.txt', 'one'), two: writing('a.txt', 'two') })
    const { key, send, post } = await programOf(id)
    const first = await send(user('one'))
    await send(user('two'))
    const edited = await post([user('one'), assistant('Written.'), user('again')])
    expect(edited.session).not.toBe(first.session)
    expect([await fileOf(edited.session, 'a.txt', key), await fileOf(first.session, 'a.txt', key)]).toEqual([
      'one',
      'two',
    ])
  })

  it('is new where an answer was edited, and keeps the words as its history', async () => {
    const scripted = model(() => says('Yes.'))
    const { send, post } = await programOf(scripted.id)
    const first = await send(user('one'))
    const other = await post([user('one'), assistant('No!'), user('two')])
    expect(other.session).not.toBe(first.session)
    expect(listTexts(scripted.requests[1] as never)).toEqual(['user: one', 'assistant: No!', 'user: two'])
  })

  it('never gets what may be somebody else’s', async () => {
    const id = alike({})
    const ann = await programOf(id, { user: 'ann' })
    const first = await ann.send(user('one'))
    const bob = await programOf(id, { user: 'bob' }, ann.key)
    const stranger = await programOf(id, { user: 'ann' })
    for (const { post } of [bob, stranger])
      expect((await post([user('one'), assistant('Yes.'), user('two')])).session).not.toBe(first.session)
    const twin = await ann.post([user('one')])
    const next = await ann.post([user('one'), assistant('Yes.'), user('two')])
    expect([first.session, twin.session]).not.toContain(next.session)
  })

  it('is told apart from others with the same words by the ids of the answers', async () => {
    const id = alike({})
    const one = await programOf(id)
    const other = await programOf(id, {}, one.key)
    const first = await one.send(user('one'))
    const second = await other.send(user('one'))
    expect(second.session).not.toBe(first.session)
    expect((await one.send(user('two'))).session).toBe(first.session)
    expect((await other.send(user('two'))).session).toBe(second.session)
  })

  it('is new when its responses are not stored', async () => {
    const { post } = await programOf(alike({}), { store: false })
    const first = await post([user('one')])
    expect((await post([user('one'), assistant('Yes.'), user('two')])).session).not.toBe(first.session)
    const stored = await programOf(alike({}))
    const kept = await stored.send(user('one'))
    const unstored = await programOf(alike({}), { store: false }, stored.key)
    expect((await unstored.post([user('one'), assistant('Yes.'), user('two')])).session).not.toBe(kept.session)
  })

  it('goes on when two requests continue it at once: one in the session, one in a copy', async () => {
    const gate = new Gate()
    const id = alike({ two: says('Two.', gate), three: says('Three.') })
    const { send, post, items } = await programOf(id)
    const first = await send(user('one'))
    const both = ['two', 'three'].map((text) => post([...items, user(text)]))
    await gate.waitUntilReached()
    const other = await both[1]
    gate.open()
    const sessions = [(await both[0])?.session, other?.session]
    expect(new Set(sessions).size).toBe(2)
    expect(sessions).toContain(first.session)
  })

  it('joins the running run of an earlier try', async () => {
    const { id: tenant, key } = await newTenant()
    const gate = new Gate()
    const scripted = model(() => says('Once.', gate))
    const { post } = await programOf(scripted.id, {}, key)
    const first = post([user('one')])
    await untilRecorded(tenant, 1)
    await gate.waitUntilReached()
    const again = await request('POST', '/v1/responses', {
      key,
      body: { model: scripted.id, input: [user('one')], stream: true },
      headers: { 'x-stainless-retry-count': '1' },
    })
    gate.open()
    expect(again.headers.get('x-talaria-run-id')).toBe((await first).run)
    expect(await again.text()).toContain('Once.')
    expect(scripted.requests).toHaveLength(1)
  })

  it('answers a question of the run that waits', async () => {
    const question = calls({ id: 'q1', name: 'clarify', input: { question: 'Which colour?' } })
    const { send } = await programOf(model([question, says('Blue it is.'), says('Bye.')]).id)
    const asked = await send(user('go'))
    const told = await send(user('blue'))
    expect([told.session, told.run]).toEqual([asked.session, asked.run])
    expect((await send(user('bye'))).session).toBe(asked.session)
  })
})
