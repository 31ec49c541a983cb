/** Fetches what happened in the rooms of a Matrix account since a position, by one `/sync` that does not wait. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { isJsonObject, parseJson } from '#agent/core/parse-json.ts'
import type { FailedOutcome } from '../call-api.ts'
import type { ChannelConnection, InboundEvent, PullAnswer } from '../channel.ts'
import { pick, pickList, pickNumber, pickText } from '../kit/pick.ts'
import { callMatrix, getOwnId, room as inRoom } from './matrix-api.ts'
import { type MatrixRoom, parseRoomEvent, relatedIdOf } from './parse-event.ts'

/** `at`: when the connection began, in milliseconds. `told`: encrypted rooms that know that the bot cannot read. */
type Cursor = { readonly since: string; readonly at: number; readonly told: readonly string[] }

const none = { types: [] }
const filter = JSON.stringify({
  presence: none,
  account_data: none,
  room: {
    timeline: { limit: 50 },
    state: { types: ['m.room.member'], lazy_load_members: true },
    ephemeral: none,
    account_data: none,
  },
})
const gapPageSize = 100
const maxGapPages = 5
const maxToldRooms = 500
/** The clock of a homeserver may be behind. Messages of an invitation stand in front of the join. */
const toleranceMs = 600_000

/** Ends the fetches with what the homeserver said. */
class Failed extends Error {
  readonly answer: Extract<PullAnswer, { kind: 'failed' }>
  constructor({ outcome, code }: { readonly outcome: FailedOutcome; readonly code?: string | number }) {
    super(outcome.detail)
    const isFinal = ['M_UNKNOWN_TOKEN', 'M_MISSING_TOKEN', 'M_USER_DEACTIVATED'].includes(String(code))
    const waitMs = outcome.kind === 'retry' ? outcome.waitMs : undefined
    this.answer = {
      kind: 'failed',
      detail: outcome.detail,
      ...(waitMs !== undefined && { waitMs }),
      ...(isFinal && { isFinal }),
    }
  }
}

export async function pull(connection: ChannelConnection, cursor: string | undefined): Promise<PullAnswer> {
  try {
    return await sync(connection, readCursor(cursor))
  } catch (error) {
    if (error instanceof Failed) return error.answer
    throw error
  }
}

function readCursor(text: string | undefined): Cursor | undefined {
  const stored = text === undefined ? undefined : parseJson(text)
  const since = pickText(stored, 'since')
  return since === undefined
    ? undefined
    : { since, at: pickNumber(stored, 'at') ?? 0, told: pickList(stored, 'told').map(String) }
}

async function get(connection: ChannelConnection, path: string) {
  const answer = await callMatrix(connection, { method: 'GET', path })
  if (answer.kind === 'failed') throw new Failed(answer)
  return answer.result
}

async function sync(connection: ChannelConnection, from: Cursor | undefined): Promise<PullAnswer> {
  const own = await getOwnId(connection)
  if ('outcome' in own) throw new Failed(own)
  const query = new URLSearchParams({
    timeout: '0',
    filter,
    set_presence: 'offline',
    ...(from && { since: from.since }),
  })
  const synced = await get(connection, `client/v3/sync?${query.toString()}`)
  const since = pickText(synced, 'next_batch') ?? from?.since ?? ''
  const events = entriesOf(pick(synced, 'rooms', 'invite')).flatMap(([chat, invite]) =>
    parseInvite(chat, invite, own.id),
  )
  const told = new Set(from?.told)
  const joined = from ? entriesOf(pick(synced, 'rooms', 'join')) : []
  for (const [chat, one] of joined)
    events.push(...(await readRoomEvents(connection, { chat, joined: one, own: own.id, from }, told)))
  const next: Cursor = { since, at: from?.at ?? Date.now(), told: [...told].slice(-maxToldRooms) }
  return { kind: 'pulled', cursor: JSON.stringify(next), events }
}

async function readRoomEvents(
  connection: ChannelConnection,
  room: JoinedRoom,
  told: Set<string>,
): Promise<readonly InboundEvent[]> {
  const { chat } = room
  const raw = await readTimeline(connection, room)
  const isEncrypted = raw.some((one) => pickText(one, 'type') === 'm.room.encrypted')
  if (isEncrypted && !told.has(chat) && (await tell(connection, chat))) told.add(chat)
  return parseTimeline(connection, room, raw)
}

const entriesOf = (value: unknown) => (isJsonObject(value) ? Object.entries(value) : [])

function parseInvite(chat: string, invite: unknown, own: string): InboundEvent[] {
  const events = pickList(invite, 'invite_state', 'events')
  const invitation = events.find((one) => isOwnMembership(one, own, 'invite'))
  const id = pickText(invitation, 'sender')
  if (id === undefined) return []
  const key = `invite:${chat}:${id}`
  return [{ kind: 'lifecycle', change: 'invited', key, address: { chat }, isGroup: false, sender: { id, name: id } }]
}

const isOwnMembership = (event: unknown, own: string, membership: string): boolean =>
  pickText(event, 'type') === 'm.room.member' &&
  pickText(event, 'state_key') === own &&
  pickText(event, 'content', 'membership') === membership

type JoinedRoom = {
  readonly chat: string
  readonly joined: unknown
  readonly own: string
  readonly from: Cursor | undefined
}

/** The new events of others, oldest first, without those from before the connection and before the join. */
async function readTimeline(connection: ChannelConnection, room: JoinedRoom): Promise<readonly unknown[]> {
  const { joined, own, from } = room
  const newest = pickList(joined, 'timeline', 'events')
  const state = [...pickList(joined, 'state', 'events'), ...newest]
  const join = state.find((one) => isOwnMembership(one, own, 'join'))
  const isLimited = pick(joined, 'timeline', 'limited') === true
  const gap = isLimited && !join ? await readGap(connection, room) : []
  const joinedAt = join ? timeOf(join) : 0
  const earliest = Math.max(from?.at ?? 0, joinedAt) - toleranceMs
  return [...gap, ...newest].filter((one) => pickText(one, 'sender') !== own && timeOf(one) >= earliest)
}

const timeOf = (event: unknown): number => pickNumber(event, 'origin_server_ts') ?? 0

/** A `/sync` has the newest events of a room only. */
async function readGap(connection: ChannelConnection, { chat, joined, from }: JoinedRoom): Promise<readonly unknown[]> {
  const found: unknown[] = []
  let at = pickText(joined, 'timeline', 'prev_batch')
  for (let page = 0; page < maxGapPages && at !== undefined; page++) {
    const query = new URLSearchParams({ dir: 'b', from: at, to: from?.since ?? '', limit: String(gapPageSize) })
    const answer = await get(connection, inRoom(chat, `messages?${query.toString()}`))
    const events = pickList(answer, 'chunk')
    found.push(...events)
    at = events.length ? pickText(answer, 'end') : undefined
  }
  return found.toReversed()
}

const isWritten = (event: unknown): boolean =>
  /^(?:m\.(?:room\.message|sticker|reaction|poll\.start)|org\.matrix\.msc3381\.poll\.start)$/.test(
    pickText(event, 'type') ?? '',
  )

async function parseTimeline(
  connection: ChannelConnection,
  { chat, own }: JoinedRoom,
  raw: readonly unknown[],
): Promise<readonly InboundEvent[]> {
  const written = raw.filter(isWritten)
  if (!written.length) return []
  const hasChanged = raw.some((one) => pickText(one, 'type') === 'm.room.member')
  const room = await readRoom(connection, { chat, own, hasChanged })
  const parsed: InboundEvent[] = []
  for (const event of written) {
    const id = relatedIdOf(event)
    const related = id === undefined ? undefined : await findEvent(connection, { chat, id, near: raw })
    const found = parseRoomEvent(event, room, related)
    if (found) parsed.push(found)
  }
  return parsed
}

/** Undefined for an event that the account may not see. */
async function findEvent(
  connection: ChannelConnection,
  { chat, id, near }: { readonly chat: string; readonly id: string; readonly near: readonly unknown[] },
): Promise<unknown> {
  const known = near.find((one) => pickText(one, 'event_id') === id)
  if (known !== undefined) return known
  const answer = await callMatrix(connection, { method: 'GET', path: inRoom(chat, `event/${encodeURIComponent(id)}`) })
  if (answer.kind === 'done') return answer.result
  if (answer.outcome.kind === 'retry' || answer.outcome.kind === 'ambiguous') throw new Failed(answer)
  return undefined
}

const rooms = new BoundedMap<string, { readonly at: number; readonly room: MatrixRoom }>(1_000)
const freshMs = 300_000

async function readRoom(
  connection: ChannelConnection,
  { chat, own, hasChanged }: { readonly chat: string; readonly own: string; readonly hasChanged: boolean },
): Promise<MatrixRoom> {
  const key = `${connection.apiBase} ${own} ${chat}`
  const known = rooms.get(key)
  if (known && !hasChanged && Date.now() - known.at < freshMs) return known.room
  const people = entriesOf(pick(await get(connection, inRoom(chat, 'joined_members')), 'joined'))
  const names = new Map(people.map(([id, one]) => [id, pickText(one, 'display_name') ?? id]))
  const room = { chat, own, isGroup: people.length > 2, names }
  rooms.set(key, { at: Date.now(), room })
  return room
}

const encrypted = 'This room is encrypted. I can read and answer only in rooms without encryption.'

/** Returns false when the room does not know it yet. */
async function tell(connection: ChannelConnection, chat: string): Promise<boolean> {
  const body = { msgtype: 'm.notice', body: encrypted }
  const path = inRoom(chat, 'send/m.room.message/talaria-encrypted')
  return (await callMatrix(connection, { method: 'PUT', path, body })).kind === 'done'
}
