/**
 * Reads the messages of a task of A2A: those of its sender with the ids that they came with, and those of the agent. The
 * ids are in the keys under which the messages were stored once.
 */

import { isJsonObject, type JsonObject, parseJson } from '#agent/core/parse-json.ts'
import type { Identity } from '#agent/core/permission/roles.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { type A2aVersion, idsOf, renderMessage, type TaskRun } from '#agent/public-api/a2a.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { sha256Base64 } from '#durable/platform/hash.ts'
import { claimName } from '../../idempotency.ts'

/** Requests to the API. A refusal is thrown, and undefined stands for 404. */
export type ReadApi = (path: string) => Promise<JsonObject | undefined>

const defaultLength = 20
const maxLength = 100
const pageOfMessages = 200
/** Of a task whose run is very long, only the newest messages are read. */
const maxPages = 5
const maxMessageChars = 20_000

export class InvalidLength extends Error {
  override readonly name = 'InvalidLength'
}

/** Without a number the server chooses one. Parameters of a query are texts. */
export function readLength(value: unknown, standard = defaultLength): number {
  if (value === undefined || value === null || value === '') return standard
  const length = Number(value)
  if (!Number.isInteger(length) || length < 0) throw new InvalidLength('historyLength must be a whole number from 0.')
  return Math.min(length, maxLength)
}

/** A message with such an id is stored once, however often it comes. */
export const keyOf = (messageId: string | undefined): string | undefined =>
  messageId !== undefined && /^[\x21-\x7e]{1,200}$/.test(messageId) ? `${keyPrefix}${messageId}` : undefined
const keyPrefix = 'a2a-'

const runsPath = '/v1/runs'
const steerPath = (id: string): string => `${runsPath}/${encodeURIComponent(id)}/steer`

/** The ids of messages that the key of a request has sent. */
export class MessageIds {
  readonly #env: Env
  readonly #identity: Identity

  constructor(env: Env, identity: Identity) {
    this.#env = env
    this.#identity = identity
  }

  get #authority() {
    return systemAuthority(this.#identity.tenantId, { kind: 'job', id: 'a2a' })
  }

  get #claims() {
    return tenantStub(this.#env, this.#identity.tenantId).claims
  }

  #nameOf(path: string, key: string): string {
    return claimName(this.#identity.principal, { method: 'POST', path, key })
  }

  /** The message that has begun a run, and those that were sent into it, oldest first. */
  async of(id: string): Promise<{ readonly begun: string | undefined; readonly added: readonly string[] }> {
    const claims = this.#claims
    const [[begun], added] = await Promise.all([
      claims.listNames(this.#authority, this.#nameOf(runsPath, keyPrefix), id),
      claims.listNames(this.#authority, this.#nameOf(steerPath(id), keyPrefix)),
    ])
    return { begun, added }
  }

  /** Notes the message that answers a question. `conflict`: the message has answered or said something else already. */
  async claimAnswer({ run_id: runId, session_id: sessionId }: TaskRun, key: string, answer: string) {
    const name = this.#nameOf(steerPath(runId), key)
    const { kind } = await this.#claims.claim(this.#authority, name, await sha256Base64(answer), { sessionId, runId })
    return { kind, release: () => this.#claims.release(this.#authority, name) }
  }
}

export type MessageRow = JsonObject
export type MessageRows = { readonly data: readonly MessageRow[]; readonly older: string | null }

export async function readMessages(
  read: ReadApi,
  session: string,
  { preview, cursor }: { readonly preview: number; readonly cursor: string | null },
): Promise<MessageRows> {
  const query = `limit=${pageOfMessages}&preview=${preview}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
  const page = await read(`/api/sessions/${encodeURIComponent(session)}/messages?${query}`)
  const data = Array.isArray(page?.['data']) ? page['data'].filter(isJsonObject) : []
  const older = page?.['next_cursor']
  return { data, older: typeof older === 'string' && older ? older : null }
}

export type HistoryWish = {
  readonly read: ReadApi
  readonly ids: MessageIds
  readonly version: A2aVersion
  readonly length: number
}

/** The preview that a page needs whose messages become histories. */
export const historyPreview = maxMessageChars

/** The newest `length` messages, oldest first. `page`: the newest page of messages that has the run, if it is known. */
export async function readHistory(
  { read, ids, version, length }: HistoryWish,
  run: TaskRun,
  page?: MessageRows,
): Promise<readonly JsonObject[]> {
  if (length === 0) return []
  const [{ rows, isWhole }, sent] = await Promise.all([readRun(read, run, page), ids.of(run.run_id)])
  const said = nameMessages(rows.flatMap(messagesIn), { ...sent, isWhole })
  return said.slice(-length).map(({ id, by, text }) => {
    const messageId = id ?? `${run.run_id}-message`
    return renderMessage(version, idsOf(run), { by, messageId, text })
  })
}

async function readRun(read: ReadApi, { run_id: id, session_id: session }: TaskRun, page?: MessageRows) {
  let rows: readonly MessageRow[] = []
  let at = page ?? (await readMessages(read, session, { preview: historyPreview, cursor: null }))
  for (let pages = 1; ; pages++) {
    rows = [...at.data.filter((row) => row['run_id'] === id), ...rows]
    const isWhole = at.older === null || (rows.length > 0 && at.data[0]?.['run_id'] !== id)
    if (isWhole || at.older === null || pages === maxPages) return { rows, isWhole }
    at = await readMessages(read, session, { preview: historyPreview, cursor: at.older })
  }
}

type Said = { readonly id?: string | undefined; readonly by: 'user' | 'agent'; readonly text: string }

const textOf = (content: unknown): string => {
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? content.filter(isJsonObject) : []
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('')
}

/** A question and its answer are a call and its result. Messages with a source are those of the system. */
function messagesIn(row: MessageRow): readonly Said[] {
  const { run_id: run, seq, role, content, source, name } = row
  const id = `${String(run)}-${String(seq)}`
  if (role === 'user') return source === undefined ? [{ id, by: 'user', text: textOf(content) }] : []
  if (role === 'tool') {
    const { user_response: answer } = name === 'clarify' ? objectIn(content) : {}
    return typeof answer === 'string' ? [{ id, by: 'user', text: answer }] : []
  }
  const text = [textOf(content), ...questionsIn(row)].filter(Boolean).join('\n\n')
  return text ? [{ id, by: 'agent', text }] : []
}

function objectIn(content: unknown): JsonObject {
  const read = parseJson(textOf(content))
  return isJsonObject(read) ? read : {}
}

function questionsIn({ tool_calls: calls }: MessageRow): readonly string[] {
  const named = (Array.isArray(calls) ? calls.filter(isJsonObject) : []).map((call) => call['function'])
  return named.flatMap((one) => {
    if (!isJsonObject(one) || one['name'] !== 'clarify') return []
    const { question } = objectIn(one['arguments'])
    return typeof question === 'string' ? [question] : []
  })
}

type Sent = { readonly begun: string | undefined; readonly added: readonly string[]; readonly isWhole: boolean }

/** Adds the ids of the sender to its messages. Those that the run has not read yet follow. */
function nameMessages(said: readonly Said[], { begun, added, isWhole }: Sent): readonly Said[] {
  const places = said.flatMap(({ by }, at) => (by === 'user' ? [at] : []))
  const first = isWhole ? places.shift() : undefined
  // People may have written in between, and keys of old messages are forgotten.
  const later = added.length < places.length ? places.slice(-added.length || places.length) : places
  const names = new Map<number | undefined, string | undefined>([
    [first, begun],
    ...later.map((place, at) => [place, added[at]] as const),
  ])
  const unread = [
    ...(first === undefined && isWhole && begun !== undefined ? [begun] : []),
    ...added.slice(later.length),
  ]
  return [
    ...said.map((one, at) => ({ ...one, id: names.get(at) ?? one.id })),
    ...unread.map((id) => ({ id, by: 'user' as const, text: '[not read yet]' })),
  ]
}
