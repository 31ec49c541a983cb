/** Tests that thinking which a model writes into its text reaches neither readers nor the next request as text. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, listTexts, model, says } from '../../support/scripted-model.ts'
import { applyMigrations, newSession } from '../../worker/client.ts'
import { joinDeltas, listMessages, send, sendAndStream, subscribe } from '../../worker/listen.ts'

beforeAll(applyMigrations)

const thinkingOf = (events: readonly { readonly type: string; readonly [more: string]: unknown }[]) =>
  events.flatMap((event) => (event.type === 'reasoning.delta' ? [String(event['delta'])] : [])).join('')

describe.each([
  ['both tags', ['<thi', 'nk>\nThe user gr', 'eets me.\n</think>\n\nHello!']],
  ['only the closing tag', ['The user gr', 'eets me.\n</th', 'ink>\n\nHello!']],
])('thinking between %s', (_name, parts) => {
  it('is thinking in the events, in the messages and in the next request', async () => {
    const scripted = model([says(...parts), says('Bye.')])
    const { id } = await newSession({ model: scripted.id })
    const live = await sendAndStream(id, { input: 'hello' })
    await live.waitFor('run.completed')
    const replay = await subscribe(id, 0)
    await replay.waitFor('run.completed')
    for (const { events } of [live, replay])
      expect([thinkingOf(events), joinDeltas(events)]).toEqual(['The user greets me.', 'Hello!'])
    expect(live.events.at(-1)).toMatchObject({ output: 'Hello!' })
    const messages = await listMessages<{ role: string; content: string }>(id)
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Hello!' })
    await send(id, 'bye')
    expect(listTexts(scripted.requests[1] as (typeof scripted.requests)[number])).toEqual([
      'user: hello',
      'assistant: Hello!',
      'user: bye',
    ])
  })
})

it('runs a tool whose name has a namespace', async () => {
  const named = calls({ name: 'functions.todo:0', input: { todos: [] } })
  const scripted = model([named, says('Done.')])
  const { id } = await newSession({ model: scripted.id })
  await send(id, 'plan')
  expect(listTexts(scripted.requests[1] as (typeof scripted.requests)[number])[1]).toBe('assistant: → todo')
})
