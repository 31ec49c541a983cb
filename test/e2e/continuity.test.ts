/** Tests an ordinary chat program, which keeps no headers, against a real server. */

import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Client } from './support/client.ts'
import { createTenant } from './support/here.ts'

type Message = { readonly role: string; readonly content: string }

function chatProgram(client: Client) {
  const messages: Message[] = []
  const send = async (given: readonly Message[]) => {
    const { status, json, headers } = await client.post('/v1/chat/completions', { model: 'talaria', messages: given })
    expect(status).toBe(200)
    return { session: headers.get('x-talaria-session-id') ?? '', answer: json.choices[0].message.content as string }
  }
  const say = async (content: string) => {
    messages.push({ role: 'user', content })
    const sent = await send(messages)
    messages.push({ role: 'assistant', content: sent.answer })
    return sent
  }
  return { messages, send, say }
}

const write = (text: string) => `[[call write_file {"path":"a.txt","content":"${text}"} then say written]]`
const fileOf = async (client: Client, session: string) => {
  const { status, text } = await client.get(`/api/sessions/${session}/files/a.txt`)
  return status === 200 ? text : status
}

it('two turns see the same file, an edited message branches, and no one meets another', async () => {
  const [{ client: mine }, { client: other }] = [await createTenant(), await createTenant()]
  const nonce = `[[usage prompt=5 nonce=${randomUUID()}]]`
  const chat = chatProgram(mine)
  const first = await chat.say(`${write('one')} ${nonce}`)
  const second = await chat.say('[[call read_file {"path":"a.txt"} then say read]]')
  expect([second.session, await fileOf(mine, second.session)]).toEqual([first.session, 'one'])
  await chat.say(write('two'))
  const edited = await chat.send([...chat.messages.slice(0, 2), { role: 'user', content: '[[say edited]]' }])
  expect(edited.session).not.toBe(first.session)
  expect([await fileOf(mine, edited.session), await fileOf(mine, first.session)]).toEqual(['one', 'two'])
  // The same words with another key.
  const foreign = await chatProgram(other).send([...chat.messages, { role: 'user', content: '[[say hello]]' }])
  expect(await fileOf(other, foreign.session)).toBe(404)
  // The same words once more.
  const again = chatProgram(mine)
  await again.say(`${write('one')} ${nonce}`)
  expect(await fileOf(mine, (await again.say('[[say and now]]')).session)).toBe('one')
})
