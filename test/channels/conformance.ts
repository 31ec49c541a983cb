/** Checks that a messaging platform keeps the contract of the channel port. Every platform runs this suite. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SendOutcome } from '#agent/core/delivery.ts'
import type { MediaReference } from '#agent/core/media/media-reference.ts'
import {
  type Channel,
  type ChannelConnection,
  type ChatAddress,
  type InboundEvent,
  type InboundRequest,
  type Received,
  type Sender,
  type TextLimit,
} from '#channels/channel.ts'

/** The size of a text in the platform's unit. */
function textSize(text: string, { unit }: TextLimit): number {
  if (unit === 'utf16') return text.length
  return unit === 'utf8' ? new TextEncoder().encode(text).length : [...text].length
}

export type SampleMessage = {
  readonly id: string
  readonly chat: string
  readonly isGroup: boolean
  readonly sender: { readonly id: string; readonly name: string }
  readonly text: string
}

/** The next answer of the platform's API. `lost`: the request arrives, and the connection breaks. A busy one asks for two seconds. */
export type ApiFailure = 'busy' | 'unavailable' | 'lost' | 'forbidden' | 'too-long' | 'format' | 'window'

/** A signed body of the platform, and the event that it means. */
export type EventSample = { readonly name: string; readonly body: string; readonly event: object }

export type ChannelFixture = {
  readonly channel: Channel
  readonly connection: ChannelConnection
  /** A connection of another tenant. */
  readonly other: ChannelConnection
  readonly maxEventsPerRequest: number
  /** The signed parts besides a shared secret. */
  readonly signs: { readonly body: boolean; readonly time: boolean }
  /** The ids of a direct chat and of a group, as the platform writes them. Default: `11` and `-50`. */
  readonly chats?: { readonly direct: ChatAddress; readonly group: ChatAddress }
  /** The person who writes. Default: 11, Anna. */
  readonly person?: Sender
  /** Messages do not arrive by webhook (`encodeMessages` then encodes any event). */
  readonly messagesByGateway?: true
  readonly hasNoGroups?: true
  /** The platform has no direct chats. */
  readonly isAlwaysGroup?: true
  /** The platform has no call that tells whether the secrets are right. */
  readonly cannotTestSecrets?: true
  /** A message is sent by what came with another one, not by a secret. */
  readonly sendsWithoutSecrets?: true
  /** Failures that the platform's API cannot report. */
  readonly unknownFailures?: readonly ApiFailure[]
  readonly encodeMessages: (messages: readonly SampleMessage[]) => string
  /** Absent: the platform has no buttons. */
  readonly encodePress?: (press: { readonly id: string; readonly data: string }) => string
  /** Edits, commands, lifecycle events, quotes, messages of bots and media. */
  readonly samples?: readonly EventSample[]
  /** Proven requests that mean nothing to the agent: its own messages, receipts, unknown events. */
  readonly ignored?: readonly Pick<EventSample, 'name' | 'body'>[]
  /** Signs a body with the secrets of a connection, as sent at a time. */
  readonly sign?: (body: Uint8Array, by: ChannelConnection, at: number) => Promise<HeadersInit>
  /** Encrypts a body with the secrets of a connection, before it is signed. */
  readonly encrypt?: (body: string, by: ChannelConnection) => Promise<string>
  /** Proves a request whose proof is no header. Undefined: a body like this cannot carry it. */
  readonly prove?: (request: InboundRequest, by: ChannelConnection) => Promise<InboundRequest | undefined>
  /** Requests that must be answered at once, and the expected answers. */
  readonly handshakes: readonly { readonly name: string; readonly request: InboundRequest; readonly answer: string }[]
  /** A file that the API has, and one that it does not know. */
  readonly media?: { readonly known: MediaReference; readonly bytes: Uint8Array; readonly unknown: MediaReference }
  /** A chat that exists, and one that does not. */
  readonly targets: { readonly known: ChatAddress; readonly unknown: ChatAddress }
  readonly api: {
    /** The files that stand in its chats now. */
    readonly files?: () => readonly { readonly name: string; readonly bytes: number }[]
    /** The fields of every call. */
    readonly calls?: () => readonly object[]
    /** The next call that sends fails so. */
    readonly failNext: (failure: ApiFailure) => void
    /** The texts that stand in its chats now. */
    readonly texts: () => readonly string[]
  }
}

const receivedAt = 1_800_000_000_000
const defaultChats = { direct: { chat: '11' }, group: { chat: '-50' } }
const defaultPerson = { id: '11', name: 'Anna' }
const bytesOf = (text: string) => Uint8Array.from(new TextEncoder().encode(text))
const sampleOf =
  ({ chats = defaultChats, person = defaultPerson, isAlwaysGroup }: ChannelFixture) =>
  (id: string, more: Partial<SampleMessage> = {}): SampleMessage => ({
    id,
    chat: chats.direct.chat,
    isGroup: isAlwaysGroup === true,
    sender: person,
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
    testEdits(createFixture)
    testFailures(createFixture)
  })
  describe(`${fixture.channel.platform}: files, targets and capabilities`, () => {
    testMedia(createFixture)
    testMarkedFiles(createFixture)
    testTargets(createFixture)
    testCapabilities(fixture)
  })
}

async function signedRequest(
  fixture: ChannelFixture,
  plain: Uint8Array,
  by = fixture.connection,
): Promise<InboundRequest> {
  const encrypted = await fixture.encrypt?.(new TextDecoder().decode(plain), by)
  const body = encrypted === undefined ? plain : bytesOf(encrypted)
  const headers = new Headers(await fixture.sign?.(body, by, receivedAt))
  const request = { method: 'POST', url: new URL(fixture.connection.webhookUrl), headers, body, receivedAt }
  return (await fixture.prove?.(request, by)) ?? request
}

const unprovenRequest = ({ connection }: ChannelFixture, body: Uint8Array): InboundRequest => ({
  method: 'POST',
  url: new URL(connection.webhookUrl),
  headers: new Headers(),
  body,
  receivedAt,
})

async function receiveSigned(fixture: ChannelFixture, body: string | Uint8Array): Promise<Received> {
  const bytes = typeof body === 'string' ? bytesOf(body) : body
  return fixture.channel.receive(await signedRequest(fixture, bytes), fixture.connection)
}

function testEvents(fixture: ChannelFixture): void {
  const { channel, connection, encodeMessages, encodePress, maxEventsPerRequest: max } = fixture
  const { chats = defaultChats, person = defaultPerson, samples = [], ignored = [] } = fixture
  const sample = sampleOf(fixture)

  it.skipIf(fixture.messagesByGateway).each([
    ['a direct chat', sample('1')],
    [
      'a group',
      sample('2', { chat: chats.group.chat, isGroup: !fixture.hasNoGroups, text: 'emoji 😀 & "quotes" + 100 %' }),
    ],
  ])('parses a message of %s', async (_name, message) => {
    const { response, events } = await receiveSigned(fixture, encodeMessages([message]))
    const { chat, isGroup, sender, text } = message
    expect(events).toEqual([
      expect.objectContaining({
        kind: 'message',
        address: expect.objectContaining({ chat }),
        isGroup,
        sender,
        text,
        media: [],
        key: expect.any(String),
      }),
    ])
    expect(response?.ok ?? true).toBe(true)
  })

  it.runIf(encodePress)('parses the press of a button', async () => {
    const { events } = await receiveSigned(fixture, encodePress?.({ id: 'p1', data: 'ask:1:0' }) ?? '')
    const address = expect.objectContaining({ chat: chats.direct.chat })
    expect(events).toEqual([
      expect.objectContaining({ kind: 'press', address, sender: person, pressId: 'p1', data: 'ask:1:0' }),
    ])
  })

  it.each(samples)('parses $name', async ({ body, event }) => {
    const { events } = await receiveSigned(fixture, body)
    expect(events).toEqual([expect.objectContaining(event)])
    for (const parsed of events) expectLegal(parsed)
  })

  it.each(ignored)('ignores $name', async ({ body }) => {
    const { response, events } = await receiveSigned(fixture, body)
    expect([events, response?.ok ?? true]).toEqual([[], true])
  })

  it.skipIf(fixture.messagesByGateway)(
    'gives every delivery of an event the same key, and different events different keys',
    async () => {
      const keyOf = async (id: string) => (await receiveSigned(fixture, encodeMessages([sample(id)]))).events[0]?.key
      expect(await keyOf('5')).toBe(await keyOf('5'))
      expect(await keyOf('5')).not.toBe(await keyOf('6'))
    },
  )

  it.skipIf(fixture.messagesByGateway)('returns all events of a request in order', async () => {
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
    const bytes = typeof body === 'string' ? bytesOf(body) : body
    const request = await signedRequest(fixture, bytes)
    // An encrypted body proves itself by a field that this one does not have.
    const canProve = !fixture.encrypt && (!fixture.prove || (await fixture.prove(request, connection)) !== undefined)
    const { response, events } = await channel.receive(request, connection)
    expect([events, response?.ok ?? true]).toEqual([[], canProve])
  })

  it.each(fixture.handshakes)('answers at once: $name', async ({ request, answer }) => {
    const { response, events } = await channel.receive(request, connection)
    expect([response?.status, await response?.text(), events]).toEqual([200, answer, []])
  })
}

function testRefusals(fixture: ChannelFixture): void {
  const { channel, connection, other } = fixture
  const body = bytesOf(fixture.encodeMessages([sampleOf(fixture)('1')]))

  /** A refusal has an empty body: it gives no reason. */
  const refusal = { isRefused: true, text: '', events: [] }
  async function resultOf(request: InboundRequest, by = connection) {
    const { response, events } = await channel.receive(request, by)
    return { isRefused: [401, 403].includes(response?.status ?? 0), text: await response?.text(), events }
  }

  it('refuses a request without a signature', async () => {
    expect(await resultOf(unprovenRequest(fixture, body))).toEqual(refusal)
  })

  it.runIf(fixture.prove)('refuses a request whose secrets differ in any character', async () => {
    const change = [
      (value: string) => value.slice(1),
      (value: string) => `${value}0`,
      (value: string) => value.replace(/^./, (char) => (char === '1' ? '2' : '1')),
      () => '',
    ]
    for (const one of change) {
      const secrets = Object.fromEntries(Object.entries(connection.secrets).map(([name, value]) => [name, one(value)]))
      expect(await resultOf(await signedRequest(fixture, body, { ...connection, secrets }))).toEqual(refusal)
    }
  })

  it.runIf(fixture.sign)('refuses a request in which any character of a signed header differs', async () => {
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
    const request = await signedRequest(fixture, body)
    expect(await resultOf({ ...request, body: new Uint8Array([...request.body, 0x20]) })).toEqual(refusal)
  })

  it.runIf(fixture.signs.time)('refuses an outdated signature', async () => {
    const request = await signedRequest(fixture, body)
    expect(await resultOf({ ...request, receivedAt: receivedAt + 301_000 })).toEqual(refusal)
    expect(await resultOf({ ...request, receivedAt: receivedAt - 301_000 })).toEqual(refusal)
  })
}

function testRender({ channel }: ChannelFixture): void {
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
          expect(textSize(text, channel.textLimit)).toBeLessThanOrEqual(channel.textLimit.max)
          expect(text.isWellFormed() && text.trim() !== '').toBe(true)
        }
        expect(withoutBlanks(chunks.map(({ text }) => text).join(''))).toBe(withoutBlanks(source))
      }),
      { numRuns: 50 },
    )
  })
}

const chunkOf = (text: string) => ({ text, spans: [] })
const addressOf = ({ chats = defaultChats }: ChannelFixture) => chats.direct

function testSend(createFixture: () => ChannelFixture): void {
  it('sends a message, and returns its id where the platform gives one', async () => {
    const fixture = createFixture()
    const { channel, connection, api } = fixture
    const sent = await channel.send(connection, { address: addressOf(fixture), chunk: chunkOf('first') }, 'k1')
    expect(sent.kind).toBe('sent')
    expect(api.texts()).toEqual([expect.stringContaining('first')])
  })

  it('stores a message once for one key where it declares idempotency keys', async () => {
    const fixture = createFixture()
    const { channel, connection, api } = fixture
    api.failNext('lost')
    const message = { address: addressOf(fixture), chunk: chunkOf('hi') }
    expect((await channel.send(connection, message, 'k1')).kind).toBe('ambiguous')
    expect((await channel.send(connection, message, 'k1')).kind).toBe('sent')
    expect((await channel.send(connection, message, 'k2')).kind).toBe('sent')
    expect(api.texts()).toHaveLength(channel.capabilities.idempotencyKeys ? 2 : 3)
  })

  it('delivers a text of several messages whole', async () => {
    const fixture = createFixture()
    const { channel, connection, api } = fixture
    const source = 'Grüße 漢字 '.repeat(Math.ceil(channel.textLimit.max / 5)).trim()
    const chunks = channel.render(source, 'markdown')
    expect(chunks.length).toBeGreaterThan(1)
    for (const [n, chunk] of chunks.entries())
      expect((await channel.send(connection, { address: addressOf(fixture), chunk }, `k${n}`)).kind).toBe('sent')
    expect(withoutBlanks(api.texts().join(''))).toBe(withoutBlanks(source))
  })

  it('shows typing, answers a press, and names its account', async () => {
    const fixture = createFixture()
    const { channel, connection } = fixture
    const typing = channel.capabilities.typing && (await channel.showTyping?.(connection, addressOf(fixture)))
    expect(typing?.kind).toBe(channel.capabilities.typing ? 'sent' : undefined)
    const answered = await channel.answerPress?.(connection, 'p1', 'done')
    expect(answered?.kind ?? 'sent').toBe('sent')
    expect(await channel.getAccount(connection)).toEqual({ id: expect.any(String), name: expect.any(String) })
  })
}

function testEdits(createFixture: () => ChannelFixture): void {
  const canEdit = createFixture().channel.capabilities.edit !== undefined

  it.runIf(canEdit)('edits a message by the returned id', async () => {
    const fixture = createFixture()
    const { channel, connection, api } = fixture
    const address = addressOf(fixture)
    const sent = await channel.send(connection, { address, chunk: chunkOf('first') }, 'k1')
    expect(sent).toEqual({ kind: 'sent', id: expect.any(String) })
    const editedMessageId = (sent.kind === 'sent' && sent.id) || ''
    const edit = { address, chunk: chunkOf('second'), editedMessageId }
    expect(await channel.send(connection, edit, 'k2')).toEqual({ kind: 'sent', id: editedMessageId })
    expect(api.texts()).toEqual(['second'])
  })

  it.runIf(createFixture().channel.remove)(
    'deletes a message by the returned id, and says when it is gone',
    async () => {
      const fixture = createFixture()
      const { channel, connection, api } = fixture
      const address = addressOf(fixture)
      const sent = await channel.send(connection, { address, chunk: chunkOf('first') }, 'k1')
      const id = (sent.kind === 'sent' && sent.id) || ''
      expect([(await channel.remove?.(connection, address, id))?.kind, api.texts()]).toEqual(['sent', []])
      expect((await channel.remove?.(connection, address, '999'))?.kind).not.toBe('sent')
    },
  )

  it.runIf(canEdit)('treats an edit that changes nothing as sent', async () => {
    const fixture = createFixture()
    const { channel, connection } = fixture
    const address = addressOf(fixture)
    const sent = await channel.send(connection, { address, chunk: chunkOf('same') }, 'k1')
    const edit = { address, chunk: chunkOf('same'), editedMessageId: (sent.kind === 'sent' && sent.id) || '' }
    expect((await channel.send(connection, edit, 'k2')).kind).toBe('sent')
  })

  it.runIf(canEdit)('reports that an edited message is gone', async () => {
    const fixture = createFixture()
    const { channel, connection } = fixture
    const edit = { address: addressOf(fixture), chunk: chunkOf('x'), editedMessageId: '999' }
    expect((await channel.send(connection, edit, 'k1')).kind).toBe('gone')
  })
}

function testFailures(createFixture: () => ChannelFixture): void {
  const { unknownFailures = [] } = createFixture()
  const failures: readonly (readonly [ApiFailure, object])[] = [
    ['busy', { kind: 'retry', waitMs: 2_000 }],
    ['unavailable', { kind: 'retry' }],
    ['lost', { kind: 'ambiguous' }],
    ['forbidden', { kind: 'forbidden' }],
    ['too-long', { kind: 'too_long' }],
    ['format', { kind: 'format' }],
    ['window', { kind: 'window' }],
  ]

  it.each(failures.filter(([failure]) => !unknownFailures.includes(failure)))(
    'classifies a failure: %s',
    async (failure, expected) => {
      const fixture = createFixture()
      const { channel, connection, api } = fixture
      api.failNext(failure)
      const outcome = await channel.send(connection, { address: addressOf(fixture), chunk: chunkOf('hi') }, 'k1')
      expect(outcome).toMatchObject(expected)
      expectNoSecret(outcome, connection)
    },
  )

  it('reports wrong secrets as a refusal of the chat, without the secrets', async () => {
    const fixture = createFixture()
    const { channel, connection } = fixture
    if (!Object.keys(connection.secrets).length) return
    const secrets = Object.fromEntries(Object.keys(connection.secrets).map((name) => [name, `wrong-${name}`]))
    const wrong = { ...connection, secrets }
    const outcome = await channel.send(wrong, { address: addressOf(fixture), chunk: chunkOf('hi') }, 'k1')
    expect(outcome).toMatchObject({ kind: fixture.sendsWithoutSecrets ? 'sent' : 'forbidden' })
    expectNoSecret(outcome, wrong)
    const account = await channel.getAccount(wrong)
    expect(fixture.cannotTestSecrets || 'refused' in account).toBe(true)
  })
}

function testMedia(createFixture: () => ChannelFixture): void {
  const { media, channel, api: declared } = createFixture()

  it.runIf(channel.fetchMedia)('reads a file of a message, and no more than is allowed', async () => {
    const { connection } = createFixture()
    if (!media || !channel.fetchMedia) throw new Error('The fixture has no media.')
    const fetched = await channel.fetchMedia(connection, media.known, media.bytes.length)
    expect(fetched).toMatchObject({ kind: 'fetched', bytes: media.bytes })
    const tooLarge = await channel.fetchMedia(connection, media.known, media.bytes.length - 1)
    expect(tooLarge).toMatchObject({ kind: 'failed', canRetry: false })
    const unknown = await channel.fetchMedia(connection, media.unknown, 1_000)
    expect(unknown).toMatchObject({ kind: 'failed', canRetry: false })
    for (const secret of Object.values(connection.secrets)) expect(JSON.stringify(unknown)).not.toContain(secret)
  })

  it.runIf(channel.capabilities.files && declared.files)('sends a file', async () => {
    const fixture = createFixture()
    const file = { kind: 'document', name: 'a b.txt', mime: 'text/plain', bytes: bytesOf('content') } as const
    const message = { address: addressOf(fixture), chunk: chunkOf(''), file }
    expect((await channel.send(fixture.connection, message, 'k1')).kind).toBe('sent')
    expect(fixture.api.files?.()).toEqual([{ name: 'a b.txt', bytes: 7 }])
  })
}

function testMarkedFiles(createFixture: () => ChannelFixture): void {
  const { channel, api: declared } = createFixture()
  const kinds = ['document', 'image', 'audio', 'video'] as const

  it.runIf(channel.capabilities.files && declared.calls).each(kinds)(
    'shows on a resent file that it may be a duplicate: %s',
    async (kind) => {
      const fixture = createFixture()
      const file = { kind, name: 'a', mime: 'application/octet-stream', bytes: bytesOf('content') }
      const sendFile = async (text: string) => {
        const before = fixture.api.calls?.().length
        await fixture.channel.send(
          fixture.connection,
          { address: addressOf(fixture), chunk: chunkOf(text), file },
          text,
        )
        return JSON.stringify(fixture.api.calls?.().slice(before))
      }
      expect(await sendFile('')).not.toMatch(/caption|comment/)
      expect(await sendFile('It may be a duplicate.\n\n')).toContain('It may be a duplicate.')
    },
  )
}

function testTargets(createFixture: () => ChannelFixture): void {
  it('resolves a chat that exists, and no other', async () => {
    const { channel, connection, targets } = createFixture()
    expect(await channel.resolveTarget(connection, targets.known)).toMatchObject({
      kind: 'found',
      address: targets.known,
    })
    const unknown = await channel.resolveTarget(connection, targets.unknown)
    expect(unknown).toEqual({ kind: 'unknown', detail: expect.any(String) })
    for (const secret of Object.values(connection.secrets)) expect(JSON.stringify(unknown)).not.toContain(secret)
  })
}

function testCapabilities({ channel, encodePress }: ChannelFixture): void {
  it('declares what it implements', () => {
    const { capabilities } = channel
    expect(capabilities.typing === undefined).toBe(channel.showTyping === undefined)
    expect(capabilities.buttons === undefined).toBe(encodePress === undefined)
    // The data of our buttons.
    expect(capabilities.buttons?.maxDataBytes ?? 64).toBeGreaterThanOrEqual(32)
  })
}

/** Limits that hold for the events of every platform. */
function expectLegal(event: InboundEvent): void {
  expect(event.key.length).toBeLessThanOrEqual(400)
  if (event.kind !== 'message' && event.kind !== 'edit') return
  for (const { reference } of event.media) expect(reference.length).toBeLessThanOrEqual(2_000)
}

function expectNoSecret(outcome: SendOutcome, { secrets }: ChannelConnection): void {
  for (const secret of Object.values(secrets)) expect(JSON.stringify(outcome)).not.toContain(secret)
}
