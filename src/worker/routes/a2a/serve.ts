/**
 * Answers the requests of other agents (A2A). A task is a run and a context a session, so that nothing else is stored:
 * each request calls routes of the API with the rights of its key.
 */

import { foreignMarks } from '#agent/core/marks.ts'
import { isJsonObject, type JsonObject, parseJson } from '#agent/core/parse-json.ts'
import type { Identity } from '#agent/core/permission/roles.ts'
import {
  type A2aMessage,
  type A2aVersion,
  describeWait,
  hasTaskEnded,
  idsOf,
  readA2aMessage,
  renderTask,
  TaskRenderer,
  type TaskRun,
} from '#agent/public-api/a2a.ts'
import { eventStreamHeaders } from '../../headers.ts'
import type { ApiRoute, RequestContext } from '../../route.ts'
import { translateStream } from '../event-translation.ts'
import { type CallApi, openApi } from '../mcp-server/api-calls.ts'
import { InvalidList, listTasks } from './list-tasks.ts'
import { InvalidLength, keyOf, MessageIds, readHistory, readLength } from './task-history.ts'

export type A2aRequest = {
  readonly web: RequestContext
  readonly identity: Identity
  readonly routes: readonly ApiRoute[]
  readonly text: string
  /** By JSON-RPC. */
  readonly isRpc: boolean
}

class A2aError extends Error {
  override readonly name = 'A2aError'
  readonly code: number
  readonly status: number
  constructor(code: number, message: string, status = 400) {
    super(message)
    this.code = code
    this.status = status
  }
}

const errors = {
  parse: () => new A2aError(-32_700, 'The body is not JSON.'),
  invalid: (message: string) => new A2aError(-32_602, message),
  method: (name: string) => new A2aError(-32_601, `There is no method ${name.slice(0, 100)}.`, 404),
  notFound: () => new A2aError(-32_001, 'There is no such task.', 404),
  ended: () => new A2aError(-32_002, 'The task has ended.', 409),
  noPush: () => new A2aError(-32_003, 'Push notifications are not offered: use the outgoing webhooks.'),
  unsupported: (message: string) => new A2aError(-32_004, message),
  content: (kind: string) => new A2aError(-32_005, `A message may have texts, data and links, and not ${kind}.`),
  version: (version: string) => new A2aError(-32_009, `The version ${version.slice(0, 20)} is not 1.0 or 0.3.`),
}

const operations = new Set([
  'createRun',
  'getRun',
  'streamRunEvents',
  'stopRun',
  'steerRun',
  'listQuestions',
  'answerQuestion',
  'listApprovals',
  'listSessions',
  'listSessionMessages',
])

/** An answer, or the body of a stream. */
type Answer = JsonObject | ReadableStream<Uint8Array>
type Server = {
  readonly call: CallApi
  readonly version: A2aVersion
  readonly ids: MessageIds
  readonly wrap: (value: JsonObject) => JsonObject
}
type Method = (server: Server, params: JsonObject) => Promise<Answer>

const methods: Readonly<Record<string, Method>> = {
  SendMessage: sendMessage,
  SendStreamingMessage: async (server, params) => follow(server, await submit(server, params)),
  GetTask: async (server, params) => showTask(server, await findRun(server, idIn(params)), params),
  ListTasks: listAll,
  CancelTask: cancelTask,
  SubscribeToTask: subscribe,
}

/** The names of version 0.3. */
const olderNames: Readonly<Record<string, string>> = {
  'message/send': 'SendMessage',
  'message/stream': 'SendStreamingMessage',
  'tasks/get': 'GetTask',
  'tasks/cancel': 'CancelTask',
  'tasks/resubscribe': 'SubscribeToTask',
}

export async function serveA2a(request: A2aRequest): Promise<Response> {
  const { text, isRpc } = request
  const body = text.trim() ? parseJson(text) : {}
  const id = isRpc && isJsonObject(body) ? (body['id'] ?? null) : null
  const wrap = (value: JsonObject): JsonObject => (isRpc ? { jsonrpc: '2.0', id, result: value } : value)
  try {
    if (!isJsonObject(body)) throw errors.parse()
    const answer = await answerRequest(request, body, wrap)
    if (answer instanceof ReadableStream) return new Response(answer, { headers: eventStreamHeaders })
    return Response.json(wrap(answer))
  } catch (error) {
    if (!(error instanceof A2aError)) throw error
    const { code, message, status } = error
    if (isRpc) return Response.json({ jsonrpc: '2.0', id, error: { code, message } })
    return Response.json({ error: { code: status, message, details: [{ reason: String(code) }] } }, { status })
  }
}

function answerRequest(request: A2aRequest, body: JsonObject, wrap: Server['wrap']): Promise<Answer> {
  const { web, routes, isRpc } = request
  const { method, params } = isRpc ? readRpc(body) : readPath(web, body)
  const version = chooseVersion(web.req.header('a2a-version'), method)
  const name = Object.hasOwn(olderNames, method) ? (olderNames[method] ?? '') : method
  const run = Object.hasOwn(methods, name) ? methods[name] : undefined
  if (!run) throw /Push|pushNotification/.test(name) ? errors.noPush() : errors.method(name)
  const hasData = Boolean(readA2aMessage(params['message'])?.data)
  // Others may have written the data that an agent passes on.
  const identity = hasData ? { ...request.identity, exposure: foreignMarks } : request.identity
  const ids = new MessageIds(web.env, identity)
  return run({ call: openApi(routes, operations, { web, identity }), version, ids, wrap }, params)
}

function readRpc({ jsonrpc, method, params = {} }: JsonObject) {
  if (jsonrpc !== '2.0' || typeof method !== 'string') throw new A2aError(-32_600, 'Send one JSON-RPC 2.0 request.')
  if (!isJsonObject(params)) throw errors.invalid('params must be an object.')
  return { method, params }
}

/** By the method of HTTP and the action that the path names. */
const pathMethods: Readonly<Record<string, string>> = {
  'POST message:send': 'SendMessage',
  'POST message:stream': 'SendStreamingMessage',
  'GET tasks': 'ListTasks',
  'GET ': 'GetTask',
  'GET subscribe': 'SubscribeToTask',
  'POST cancel': 'CancelTask',
}

function readPath({ req }: RequestContext, body: JsonObject) {
  const sending = req.param('action')
  const [, id = '', named = ''] = /^(.*?)(?::(subscribe|cancel))?$/.exec(req.param('id') ?? '') ?? []
  const isList = req.param('id') === undefined && sending === undefined
  const action = isList ? 'tasks' : (sending ?? named)
  const method = pathMethods[`${req.method} ${action}`]
  if (method === undefined) throw errors.method(action || 'of this path')
  if (isList) return { method, params: req.query() }
  return { method, params: sending === undefined ? { ...req.query(), id } : body }
}

/** Without the header a client is older than it. A method of one version alone says which it is. */
function chooseVersion(header: string | undefined, method: string): A2aVersion {
  const version = header?.trim()
  if (version !== undefined && version !== '' && !/^(?:1\.0|0\.3)(?:\.\d{1,9})?$/.test(version))
    throw errors.version(version)
  return Object.hasOwn(olderNames, method) ? '0.3' : '1.0'
}

function idIn({ id }: JsonObject): string {
  if (typeof id !== 'string' || id === '') throw errors.invalid('Give the id of the task.')
  return id
}

const runPath = (id: string, more = ''): string => `/v1/runs/${encodeURIComponent(id.toWellFormed())}${more}`

/** A refusal of the API, in words. */
async function readOrThrow(response: Response): Promise<JsonObject> {
  const body: unknown = await response.json()
  if (response.ok && isJsonObject(body)) return body
  const error = isJsonObject(body) && isJsonObject(body['error']) ? body['error'] : {}
  const message = String(error['message'] ?? 'The request was refused.')
  throw new A2aError(response.status >= 500 ? -32_603 : -32_602, message, response.status)
}

async function findRun({ call }: Server, id: string): Promise<TaskRun> {
  const response = await call({ method: 'GET', path: runPath(id) })
  if (response.status === 404) throw errors.notFound()
  return (await readOrThrow(response)) as unknown as TaskRun
}

const readFor =
  ({ call }: Server) =>
  async (path: string): Promise<JsonObject | undefined> => {
    const response = await call({ method: 'GET', path })
    return response.status === 404 ? undefined : readOrThrow(response)
  }

function lengthIn({ historyLength }: JsonObject, standard?: number): number {
  try {
    return readLength(historyLength, standard)
  } catch (error) {
    throw error instanceof InvalidLength ? errors.invalid(error.message) : error
  }
}

/** A list has histories where they are asked for. */
async function listAll(server: Server, params: JsonObject): Promise<JsonObject> {
  try {
    return await listTasks({ ...server, read: readFor(server), length: lengthIn(params, 0) }, params)
  } catch (error) {
    throw error instanceof InvalidList ? errors.invalid(error.message) : error
  }
}

async function showTask(server: Server, run: TaskRun, asking: JsonObject): Promise<JsonObject> {
  const [pending, history] = await Promise.all([
    run.status === 'waiting' ? findPending(server, run) : undefined,
    readHistory({ ...server, read: readFor(server), length: lengthIn(asking) }, run),
  ])
  return renderTask(server.version, run, { asked: pending?.asked, history })
}

/** The question or the approval that a run waits for. */
async function findPending({ call }: Server, { run_id: id }: TaskRun) {
  for (const [path, type] of [
    ['/api/questions', 'question.request'],
    ['/api/approvals', 'approval.request'],
  ] as const) {
    const { data } = await readOrThrow(await call({ method: 'GET', path: `${path}?limit=200` }))
    const found = (Array.isArray(data) ? data : []).find((one) => isJsonObject(one) && one['run_id'] === id)
    if (isJsonObject(found)) return { id: String(found['id']), type, asked: describeWait({ ...found, type }) }
  }
  return undefined
}

async function sendMessage(server: Server, params: JsonObject): Promise<JsonObject> {
  const { configuration } = params
  const asking = isJsonObject(configuration) ? configuration : {}
  lengthIn(asking)
  const ids = await submit(server, params)
  const { returnImmediately, blocking } = asking
  if (returnImmediately !== true && blocking !== false) await waitForSegment(server, ids)
  const task = await showTask(server, await findRun(server, ids.run_id), asking)
  return server.version === '0.3' ? task : { task }
}

type RunIds = Pick<TaskRun, 'run_id' | 'session_id'>

async function submit(server: Server, params: JsonObject): Promise<RunIds> {
  const message = readA2aMessage(params['message'])
  if (!message) throw errors.invalid('Give a message with parts.')
  if (message.unsupported !== undefined) throw errors.content(message.unsupported)
  if (!`${message.text}${message.data}`.trim()) throw errors.invalid('The message has no text.')
  return message.taskId === undefined ? begin(server, message) : goOn(server, message, message.taskId)
}

function headersOf(messageId: string | undefined): Readonly<Record<string, string>> {
  const key = keyOf(messageId)
  return key === undefined ? {} : { 'idempotency-key': key }
}

/** A message that is sent again begins no second run. */
async function begin({ call }: Server, { text, data, contextId, messageId }: A2aMessage): Promise<RunIds> {
  // The parts after the first one of a marked message were not typed.
  const content = [text || 'Data:', `\n${data}`].map((part) => ({ type: 'input_text', text: part }))
  const body = {
    input: data ? [{ role: 'user', content }] : text,
    ...(contextId !== undefined && { session_id: contextId }),
  }
  const sent = await call({ method: 'POST', path: '/v1/runs', body, headers: headersOf(messageId) })
  return (await readOrThrow(sent)) as unknown as RunIds
}

async function goOn(server: Server, message: A2aMessage, taskId: string): Promise<RunIds> {
  const { text: typed, data, contextId } = message
  const text = [typed, data].filter(Boolean).join('\n')
  const run = await findRun(server, taskId)
  if (contextId !== undefined && contextId !== run.session_id)
    throw errors.invalid('The task belongs to another context.')
  if (hasTaskEnded(run)) throw errors.unsupported('The task has ended. Send the message without its id.')
  const pending = run.status === 'waiting' ? await findPending(server, run) : undefined
  // An agent that works through this key could allow its own calls.
  if (pending?.type === 'approval.request') throw errors.unsupported('A person has to answer this approval.')
  const { messageId } = message
  if (pending) await answerQuestion(server, run, { messageId, text, question: pending.id })
  else await steer(server, run, { messageId, text })
  return run
}

type Addition = { readonly messageId: string | undefined; readonly text: string }

/** A message that has answered a question before is no second message. */
async function steer({ call }: Server, { run_id: id }: TaskRun, { messageId, text }: Addition): Promise<void> {
  const path = runPath(id, '/steer')
  const sent = await call({ method: 'POST', path, body: { input: text }, headers: headersOf(messageId) })
  if (sent.status !== 409 || messageId === undefined) return void (await readOrThrow(sent))
  const refused = parseJson(await sent.text())
  const code = isJsonObject(refused) && isJsonObject(refused['error']) ? refused['error']['code'] : undefined
  if (code !== 'idempotency_key_conflict') await readOrThrow(Response.json(refused, sent))
}

/** A message that is sent again answers no later question. */
async function answerQuestion(
  { call, ids }: Server,
  run: TaskRun,
  { messageId, text, question }: Addition & { readonly question: string },
): Promise<void> {
  const key = keyOf(messageId)
  const claim = key === undefined ? undefined : await ids.claimAnswer(run, key, `${question} ${text}`)
  if (claim?.kind === 'conflict') return
  const path = `/api/questions/${encodeURIComponent(question)}`
  const sent = await call({ method: 'POST', path, body: { answer: text } })
  if (!sent.ok) await claim?.release()
  await readOrThrow(sent)
}

async function openEvents({ call }: Server, { run_id: id }: RunIds): Promise<ReadableStream<Uint8Array>> {
  const response = await call({ method: 'GET', path: runPath(id, '/events') })
  if (response.status === 404) throw errors.notFound()
  if (!response.ok || !response.body) await readOrThrow(response)
  return response.body as ReadableStream<Uint8Array>
}

/** Reads until the run ends, or waits for somebody. */
const waitForSegment = async (server: Server, ids: RunIds): Promise<void> =>
  (await follow(server, ids)).pipeTo(new WritableStream())

/** The stream begins with the run, so that it has requests that were answered since. */
const isAnswered = async (server: Server, { run_id: id }: RunIds, { type }: JsonObject): Promise<boolean> =>
  (type === 'question.request' || type === 'approval.request') && (await findRun(server, id)).status !== 'waiting'

const renderSse = (value: JsonObject): string => `data: ${JSON.stringify(value)}\n\n`

/** The task as it is, then its changes until it ends or waits for somebody. */
async function follow(server: Server, ids: RunIds): Promise<ReadableStream<Uint8Array>> {
  const { version, wrap } = server
  const renderer = new TaskRenderer(version, idsOf(ids))
  const task = renderTask(version, { ...ids, status: 'running' })
  const events = await openEvents(server, ids)
  return translateStream(events, {
    begin: () => renderSse(wrap(version === '0.3' ? task : { task })),
    render: async (event) => {
      const updates = (await isAnswered(server, ids, event)) ? [] : renderer.render(event)
      return updates.map((update) => renderSse(wrap(update))).join('')
    },
    end: () => '',
    isOver: () => renderer.isOver,
  })
}

async function subscribe(server: Server, params: JsonObject): Promise<ReadableStream<Uint8Array>> {
  const run = await findRun(server, idIn(params))
  if (hasTaskEnded(run)) throw errors.unsupported('The task has ended.')
  return follow(server, run)
}

/** The events of a run end with it. */
const waitForEnd = async (server: Server, ids: RunIds): Promise<void> =>
  (await openEvents(server, ids)).pipeTo(new WritableStream())

async function cancelTask(server: Server, params: JsonObject): Promise<JsonObject> {
  const run = await findRun(server, idIn(params))
  if (hasTaskEnded(run)) throw errors.ended()
  await readOrThrow(await server.call({ method: 'POST', path: runPath(run.run_id, '/stop'), body: {} }))
  await waitForEnd(server, run)
  return renderTask(server.version, await findRun(server, run.run_id))
}
