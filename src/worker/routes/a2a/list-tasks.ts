/** Lists the tasks of A2A: the runs of one session, or of all sessions, the newest ones first. */

import { decodeBase64Url, encodeBase64Url } from '#agent/core/base64.ts'
import { isJsonObject, type JsonObject, parseJson } from '#agent/core/parse-json.ts'
import { renderTask, stateNames, type TaskRun } from '#agent/public-api/a2a.ts'
import {
  historyPreview,
  type HistoryWish,
  type MessageRows,
  type ReadApi,
  readHistory,
  readMessages,
} from './task-history.ts'

const defaultPageSize = 50
const maxPageSize = 100
/** Each task is a request to its session, and each session one to the directory. */
const maxRequests = 100

/** The position behind a task. `run` is the last one that was looked at, on the page of messages that `messages` names. */
type Position = {
  readonly sessions: string | null
  readonly session: string | null
  readonly messages: string | null
  readonly run: string | null
  readonly count: number
}
const start: Position = { sessions: null, session: null, messages: null, run: null, count: 0 }

export class InvalidList extends Error {
  override readonly name = 'InvalidList'
}

type Filter = {
  readonly context: string | undefined
  readonly state: string | undefined
  readonly after: number
  readonly size: number
  readonly hasArtifacts: boolean
}

const textIn = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Parameters of a query are texts. */
function readFilter(params: JsonObject): Filter {
  const { contextId, status, pageSize, statusTimestampAfter: after, includeArtifacts } = params
  const size = pageSize === undefined || pageSize === '' ? defaultPageSize : Number(pageSize)
  if (!Number.isInteger(size) || size < 1 || size > maxPageSize)
    throw new InvalidList(`pageSize must be a whole number from 1 to ${maxPageSize}.`)
  const state = textIn(status) === 'TASK_STATE_UNSPECIFIED' ? undefined : textIn(status)
  if (state !== undefined && !stateNames.has(state)) throw new InvalidList('status is no state of a task.')
  const time = textIn(after) === undefined ? 0 : Date.parse(String(after))
  if (Number.isNaN(time)) throw new InvalidList('statusTimestampAfter must be a time as in ISO 8601.')
  const hasArtifacts = includeArtifacts === true || includeArtifacts === 'true'
  return { context: textIn(contextId), state, after: time, size, hasArtifacts }
}

const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string'

function readToken(token: unknown): Position {
  if (textIn(token) === undefined) return start
  const read = parseJson(decodeToken(String(token)))
  const { sessions, session, messages, run, count } = isJsonObject(read) ? read : {}
  const isWhole = [sessions, session, messages, run].every(isTextOrNull) && typeof count === 'number'
  if (!isWhole) throw new InvalidList('pageToken is not one that this list has returned.')
  return { sessions, session, messages, run, count } as Position
}

const maxTokenChars = 4_000

/** Empty for a text that is no base64. */
function decodeToken(token: string): Uint8Array {
  if (token.length > maxTokenChars || !/^[\w-]+$/.test(token)) return new Uint8Array()
  try {
    return decodeBase64Url(token)
  } catch {
    return new Uint8Array() // No list has returned it.
  }
}

const writeToken = (position: Position): string => encodeBase64Url(new TextEncoder().encode(JSON.stringify(position)))

/** `totalSize` counts the tasks up to this page: a count of all would read every session. */
export async function listTasks(wish: HistoryWish, params: JsonObject): Promise<JsonObject> {
  const filter = readFilter(params)
  const walk = new RunWalk(wish.read, {
    context: filter.context,
    position: readToken(params['pageToken']),
    preview: wish.length === 0 ? 1 : historyPreview,
  })
  const tasks: JsonObject[] = []
  while (tasks.length < filter.size && walk.requests < maxRequests) {
    const run = await walk.next()
    if (!run) break
    const task = renderTask(wish.version, run)
    if (!isWanted(task, run, filter)) continue
    const { artifacts, ...bare } = task
    const history = await readHistory({ ...wish, read: walk.ask }, run, walk.page)
    tasks.push({
      ...bare,
      ...(filter.hasArtifacts && artifacts !== undefined && { artifacts }),
      ...(history.length > 0 && { history }),
    })
  }
  const { position, isOver } = walk
  const count = position.count + tasks.length
  const nextPageToken = isOver ? '' : writeToken({ ...position, count })
  return { tasks, nextPageToken, pageSize: filter.size, totalSize: count }
}

function isWanted({ status }: JsonObject, { ended_at: ended, started_at: started }: TaskRun, filter: Filter): boolean {
  const state = isJsonObject(status) ? status['state'] : undefined
  if (filter.state !== undefined && state !== filter.state) return false
  return Date.parse(ended ?? started ?? '') >= filter.after || filter.after === 0
}

/** Goes through the runs from the newest to the oldest, of one session after another. */
class RunWalk {
  readonly #read: ReadApi
  readonly #context: string | undefined
  readonly #preview: number
  position: Position
  /** Runs of the current page of messages that were not looked at, newest first. */
  #left: string[] | undefined
  page: MessageRows = { data: [], older: null }
  requests = 0
  isOver = false

  constructor(
    read: ReadApi,
    given: { readonly context: string | undefined; readonly position: Position; readonly preview: number },
  ) {
    this.#read = read
    this.#context = given.context
    this.#preview = given.preview
    this.position = given.position
  }

  async next(): Promise<TaskRun | undefined> {
    while (!this.isOver && this.requests <= maxRequests) {
      if (this.position.session === null) await this.#openSession()
      else if (this.#left === undefined) await this.#openMessages()
      else if (!this.#left.length) this.#leavePage()
      else {
        const run = await this.#openRun(this.#left.shift() ?? '')
        if (run) return run
      }
    }
    return undefined
  }

  async #openRun(id: string): Promise<TaskRun | undefined> {
    this.position = { ...this.position, run: id }
    return (await this.ask(`/v1/runs/${encodeURIComponent(id)}`)) as TaskRun | undefined
  }

  readonly ask: ReadApi = (path) => {
    this.requests++
    return this.#read(path)
  }

  /** One at a time, so that the cursor behind each of them is known. */
  async #openSession(): Promise<void> {
    const { sessions } = this.position
    if (sessions === '' || this.#context !== undefined) {
      if (sessions !== null || this.#context === undefined) this.isOver = true
      else this.position = { ...this.position, session: this.#context }
      return
    }
    const page = await this.ask(`/api/sessions?limit=1${sessions ? `&cursor=${encodeURIComponent(sessions)}` : ''}`)
    const [found] = Array.isArray(page?.['data']) ? (page['data'] as readonly JsonObject[]) : []
    const session = textIn(found?.['id'])
    if (session === undefined) return void (this.isOver = true)
    this.position = {
      ...this.position,
      sessions: textIn(page?.['next_cursor']) ?? '',
      session,
      messages: null,
      run: null,
    }
  }

  async #openMessages(): Promise<void> {
    const { session, messages: cursor, run } = this.position
    this.page = await readMessages(this.ask, session ?? '', { preview: this.#preview, cursor })
    const ids = this.page.data.map((one) => textIn(one['run_id']))
    const runs = [...new Set(ids)].filter((id) => id !== undefined).toReversed()
    // A run that reaches over the edge of a page is on both.
    const behind = run === null ? 0 : runs.indexOf(run) + 1
    this.#left = runs.slice(behind)
  }

  #leavePage(): void {
    this.#left = undefined
    const { sessions } = this.position
    const { older } = this.page
    if (older !== null) this.position = { ...this.position, messages: older }
    else this.position = { ...this.position, sessions: sessions ?? '', session: null, messages: null }
  }
}
