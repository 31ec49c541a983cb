/** Checks that a messaging platform keeps the contract of the channel port. Every platform runs this suite. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SendOutcome } from '../../src/agent/model/delivery.ts'
import type { Channel, ChannelConnection, InboundRequest, Received } from '../../src/channels/channel.ts'

export type SampleMessage = {
  readonly id: string
  readonly chat: string
  readonly isGroup: boolean
  readonly sender: { readonly id: string; readonly name: string }
  readonly text: string
}

/** The next answer of the platform's API. `lost`: the request arrives, and the connection breaks. */
export type ApiFailure = 'busy' | 'unavailable' | 'lost' | 'forbidden' | 'too-long'

export type ChannelFixture = {
  readonly channel: Channel
  readonly connection: ChannelConnection
  /** A connection of another tenant. */
  readonly other: ChannelConnection
  readonly maxEventsPerRequest: number
  /** What the signature covers besides a shared secret. */
  readonly signs: { readonly body: boolean; readonly time: boolean }
  readonly maxChars: number
  readonly encodeMessages: (messages: readonly SampleMessage[]) => string
  readonly encodePress: (press: { readonly id: string; readonly data: string }) => string
  /** Signs a body with the secrets of a connection, as sent at a time. */
  readonly sign: (body: Uint8Array, by: ChannelConnection, at: number) => Promise<HeadersInit>
  /** Requests that must be answered at once, and the expected answers. */
  readonly handshakes: readonly { readonly name: string; readonly request: InboundRequest; readonly answer: string }[]
  readonly api: {
    /** The next call fails so. A busy platform asks for two seconds. */
    readonly failNext: (failure: ApiFailure) => void
    /** The texts that stand in its chats now. */
    readonly texts: () => readonly string[]
  }
}

const receivedAt = 1_800_000_000_000
const address = { chat: '11' }
const anna = { id: '11', name: 'Anna' }
const bytesOf = (text: string) => new TextEncoder().encode(text)
const sample = (id: string, more: Partial<SampleMessage> = {}): SampleMessage => ({
  id,
  chat: '11',
  isGroup: false,
  sender: anna,
  text: `text of ${id}`,
  ...more,
})
const withoutBlanks = (text: string) => text.replace(/\s+/g, '')

export function testChannel(createFixture: () => ChannelFixture): void {
  const fixture = createFixture()
  describe(`${fixture.channel.platform}: receive`, () => {
    testEvents(fixture)
    testRefusals(fixture)
  })
  describe(`${fixture.channel.platform}: render`, () => {
    testRender(fixture)
  })
  describe(`${fixture.channel.platform}: send`, () => {
    testSend(createFixture)
    testFailures(createFixture)
  })
}

async function signedRequest(
  fixture: ChannelFixture,
  body: Uint8Array,
  by = fixture.connection,
): Promise<InboundRequest> {
  const headers = new Headers(await fixture.sign(body, by, receivedAt))
  return { method: 'POST', url: new URL(fixture.connection.webhookUrl), headers, body, receivedAt }
}

async function receiveSigned(fixture: ChannelFixture, body: string | Uint8Array): Promise<Received> {
  const bytes = typeof body === 'string' ? bytesOf(body) : body
  return fixture.channel.receive(await signedRequest(fixture, bytes), fixture.connection)
}

function testEvents(fixture: ChannelFixture): void {
  const { channel, connection, encodeMessages, maxEventsPerRequest: max } = fixture

  it.each([
    ['a direct chat', sample('1')],
    ['a group', sample('2', { chat: '-50', isGroup: true, text: 'emoji 😀 & "quotes" + 100 %' })],
  ])('parses a message of %s', async (_name, message) => {
    const { response, events } = await receiveSigned(fixture, encodeMessages([message]))
    const { chat, isGroup, sender, text } = message
    expect(events).toEqual([
      expect.objectContaining({ kind: 'message', address: { chat }, isGroup, sender, text, key: expect.any(String) }),
    ])
    expect(response?.ok ?? true).toBe(true)
  })

  it('parses the press of a button', async () => {
    const { events } = await receiveSigned(fixture, fixture.encodePress({ id: 'p1', data: 'ask:1:0' }))
    expect(events).toEqual([
      expect.objectContaining({ kind: 'press', address, sender: anna, pressId: 'p1', data: 'ask:1:0' }),
    ])
  })

  it('gives every delivery of an event the same key, and different events different keys', async () => {
    const keyOf = async (id: string) => (await receiveSigned(fixture, encodeMessages([sample(id)]))).events[0]?.key
    expect(await keyOf('5')).toBe(await keyOf('5'))
    expect(await keyOf('5')).not.toBe(await keyOf('6'))
  })

  it('returns all events of a request in order', async () => {
    const messages = ['7', '8', '9'].slice(0, max).map((id) => sample(id))
    const { events } = await receiveSigned(fixture, encodeMessages(messages))
    expect(events.map((event) => event.kind === 'message' && event.text)).toEqual(messages.map(({ text }) => text))
    expect(new Set(events.map(({ key }) => key)).size).toBe(messages.length)
  })

  it.each<[string, string | Uint8Array]>([
    ['nothing', ''],
    ['cut-off JSON', '{"update_id":'],
    ['null', 'null'],
    ['a list', '[1, 2]'],
    ['an unknown form', 'type=other&event=&event=x'],
    ['bytes that are no text', new Uint8Array([0xff, 0xfe, 0x00])],
    ['a prototype', '{"__proto__":{"message":{"text":"hi"}}}'],
  ])('returns no events and no error for verified content that it does not know: %s', async (_name, body) => {
    const { response, events } = await receiveSigned(fixture, body)
    expect([events, response?.ok ?? true]).toEqual([[], true])
  })

  it.each(fixture.handshakes)('answers at once: $name', async ({ request, answer }) => {
    const { response, events } = await channel.receive(request, connection)
    expect([response?.status, await response?.text(), events]).toEqual([200, answer, []])
  })
}

function testRefusals(fixture: ChannelFixture): void {
  const { channel, connection, other } = fixture
  const body = bytesOf(fixture.encodeMessages([sample('1')]))

  /** A refusal has an empty body: it gives no reason. */
  const refusal = { isRefused: true, text: '', events: [] }
  async function resultOf(request: InboundRequest, by = connection) {
    const { response, events } = await channel.receive(request, by)
    return { isRefused: [401, 403].includes(response?.status ?? 0), text: await response?.text(), events }
  }

  it('refuses a request without a signature', async () => {
    expect(await resultOf({ ...(await signedRequest(fixture, body)), headers: new Headers() })).toEqual(refusal)
  })

  it('refuses a request in which any character of a signed header differs', async () => {
    const request = await signedRequest(fixture, body)
    const names = [...request.headers].flatMap(([name]) => (name === 'content-type' ? [] : [name]))
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) {
      const value = request.headers.get(name) ?? ''
      const changed = [
        value.slice(1),
        `${value}0`,
        `${value}, ${value}`,
        value.replace(/^./, (char) => (char === '1' ? '2' : '1')),
      ]
      for (const wrong of ['', ...changed]) {
        const headers = new Headers(request.headers)
        headers.set(name, wrong)
        expect(await resultOf({ ...request, headers })).toEqual(refusal)
      }
    }
  })

  it('refuses a request that another connection signed', async () => {
    expect(await resultOf(await signedRequest(fixture, body, other))).toEqual(refusal)
  })

  it('refuses every request while the connection has no secrets', async () => {
    expect(await resultOf(await signedRequest(fixture, body), { ...connection, secrets: {} })).toEqual(refusal)
    for (const { request } of fixture.handshakes)
      expect(await resultOf(request, { ...connection, secrets: {} })).toEqual(refusal)
  })

  it('refuses a handshake for another connection', async () => {
    for (const { request } of fixture.handshakes) expect(await resultOf(request, other)).toEqual(refusal)
  })

  it.runIf(fixture.signs.body)('refuses a body that was serialised again', async () => {
    expect(await resultOf({ ...(await signedRequest(fixture, body)), body: new Uint8Array([...body, 0x20]) })).toEqual(
      refusal,
    )
  })

  it.runIf(fixture.signs.time)('refuses an outdated signature', async () => {
    const request = await signedRequest(fixture, body)
    expect(await resultOf({ ...request, receivedAt: receivedAt + 301_000 })).toEqual(refusal)
    expect(await resultOf({ ...request, receivedAt: receivedAt - 301_000 })).toEqual(refusal)
  })
}

function testRender({ channel, maxChars }: ChannelFixture): void {
  it.each(['markdown', 'plain'] as const)('makes no message of blank text: %s', (format) => {
    expect(channel.render(' \n', format)).toEqual([])
  })

  it('shows plain text as it is', () => {
    expect(channel.render('a *b* `c` <d>', 'plain')).toEqual([{ text: 'a *b* `c` <d>', spans: [] }])
  })

  it.each(['markdown', 'plain'] as const)('splits a long text into legal messages and loses nothing: %s', (format) => {
    const word = fc.constantFrom('word', 'ä', '😀', '\n\n', ' ', 'long'.repeat(200))
    fc.assert(
      fc.property(fc.array(word, { maxLength: 400 }), (words) => {
        const source = words.join(' ')
        const chunks = channel.render(source, format)
        for (const { text } of chunks) {
          expect(text.length).toBeLessThanOrEqual(maxChars)
          expect(text.isWellFormed() && text.trim() !== '').toBe(true)
        }
        expect(withoutBlanks(chunks.map(({ text }) => text).join(''))).toBe(withoutBlanks(source))
      }),
      { numRuns: 50 },
    )
  })
}

const chunkOf = (text: string) => ({ text, spans: [] })

function testSend(createFixture: () => ChannelFixture): void {
  it('sends a message, and edits it by the returned id', async () => {
    const { channel, connection, api } = createFixture()
    const sent = await channel.send(connection, { address, chunk: chunkOf('first') }, 'k1')
    expect(sent).toEqual({ of: 'sent', id: expect.any(String) })
    const editedMessageId = (sent.of === 'sent' && sent.id) || ''
    const edit = { address, chunk: chunkOf('second'), editedMessageId }
    expect(await channel.send(connection, edit, 'k2')).toEqual({ of: 'sent', id: editedMessageId })
    expect(api.texts()).toEqual(['second'])
  })

  it('treats an edit that changes nothing as sent', async () => {
    const { channel, connection } = createFixture()
    const sent = await channel.send(connection, { address, chunk: chunkOf('same') }, 'k1')
    const edit = { address, chunk: chunkOf('same'), editedMessageId: (sent.of === 'sent' && sent.id) || '' }
    expect((await channel.send(connection, edit, 'k2')).of).toBe('sent')
  })

  it('reports that an edited message is gone', async () => {
    const { channel, connection } = createFixture()
    const edit = { address, chunk: chunkOf('x'), editedMessageId: '999' }
    expect((await channel.send(connection, edit, 'k1')).of).toBe('gone')
  })

  it('stores a message once for one key where it declares idempotency keys', async () => {
    const { channel, connection, api } = createFixture()
    api.failNext('lost')
    const message = { address, chunk: chunkOf('hi') }
    expect((await channel.send(connection, message, 'k1')).of).toBe('lost')
    expect((await channel.send(connection, message, 'k1')).of).toBe('sent')
    expect((await channel.send(connection, message, 'k2')).of).toBe('sent')
    expect(api.texts()).toHaveLength(channel.hasIdempotencyKeys ? 2 : 3)
  })

  it('shows typing, answers a press, and names its account', async () => {
    const { channel, connection } = createFixture()
    expect((await channel.showTyping(connection, address)).of).toBe('sent')
    expect((await channel.answerPress(connection, 'p1', 'done')).of).toBe('sent')
    expect(await channel.getAccount(connection)).toEqual({ id: expect.any(String), name: expect.any(String) })
  })
}

function testFailures(createFixture: () => ChannelFixture): void {
  it.each<[ApiFailure, object]>([
    ['busy', { of: 'busy', waitMs: 2_000 }],
    ['unavailable', { of: 'failed' }],
    ['lost', { of: 'lost' }],
    ['forbidden', { of: 'refused', scope: 'chat' }],
    ['too-long', { of: 'refused', scope: 'message' }],
  ])('classifies a failure: %s', async (failure, expected) => {
    const { channel, connection, api } = createFixture()
    api.failNext(failure)
    const outcome = await channel.send(connection, { address, chunk: chunkOf('hi') }, 'k1')
    expect(outcome).toMatchObject(expected)
    expectNoSecret(outcome, connection)
  })

  it('reports wrong secrets as a refusal of the chat, without the secrets', async () => {
    const { channel, connection } = createFixture()
    const secrets = Object.fromEntries(Object.keys(connection.secrets).map((name) => [name, `wrong-${name}`]))
    const wrong = { ...connection, secrets }
    const outcome = await channel.send(wrong, { address, chunk: chunkOf('hi') }, 'k1')
    expect(outcome).toMatchObject({ of: 'refused', scope: 'chat' })
    expectNoSecret(outcome, wrong)
    expect(await channel.getAccount(wrong)).toEqual({ refused: expect.any(String) })
  })
}

function expectNoSecret(outcome: SendOutcome, { secrets }: ChannelConnection): void {
  for (const secret of Object.values(secrets)) expect(JSON.stringify(outcome)).not.toContain(secret)
}
