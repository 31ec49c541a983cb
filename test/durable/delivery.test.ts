/** Answers on their way into a chat: what the platform gets, whatever happens in between. */

import { beforeAll, describe, expect, it } from 'vitest'
import { says } from '../support/scripted-model.ts'
import { allSettled, newChat, sessionOf, statesOf, tell } from '../support/chat.ts'
import { migrated } from '../worker/client.ts'
import { linesOf } from '../worker/listen.ts'

beforeAll(migrated)

describe('a message in a direct chat', () => {
  it('is answered there, once', async () => {
    const chat = await newChat([says('Hello **Anna**.')])
    await tell(chat, 'hi')
    await chat.api.has('Hello Anna.')
    const session = await sessionOf(chat)
    await allSettled(session)
    expect(chat.api.sent).toEqual(['Hello Anna.'])
    expect(await linesOf(session)).toEqual(['user: hi', 'assistant: Hello **Anna**.'])
    expect(await statesOf(session)).toEqual(['sent'])
  })
})
