/**
 * Goes on with calls that a server does not finish at once: it asks a person, or it works on a task. The state is stored
 * with the call, so that the object may be evicted in between.
 */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import { log } from '#agent/core/log.ts'
import type { PendingRequest } from '#agent/core/pending-request.ts'
import type { CallContext } from '#agent/core/tool.ts'
import { type ReadElicitation, readElicitation, readElicitationAnswer } from '#agent/mcp/elicitation.ts'
import type { RpcMessage } from '#agent/mcp/protocol.ts'
import { clock } from '#durable/platform/clock.ts'
import { McpFailure, ServerQuestion, type StreamPlace } from './mcp-client.ts'

type Ask = { readonly method: string; readonly params: JsonObject }

/** The answer of the server: a result, or a question on the stream of the request. */
export type Answered = { readonly result: JsonObject } | { readonly asked: ServerQuestion }

export type UnfinishedCall = {
  readonly alias: string
  /** Seconds that a person has for an answer. 0: nobody is asked. */
  readonly answerTimeout: number
  /** The request of the call. */
  readonly call: Ask
  readonly context: Pick<CallContext, 'continues' | 'kept' | 'mayWaitFor' | 'reportProgress'>
  /** Sends a request with the credentials of the call. */
  readonly send: (ask: Ask) => Promise<Answered>
  /** Answers a question on a stream that another object of the session has read. */
  readonly answerLater: (question: RpcMessage, place: StreamPlace, result: JsonObject) => Promise<Answered>
}

export type Finished = { readonly result: JsonObject } | { readonly later: PendingRequest }

type TaskState = {
  readonly id: string
  readonly isLegacy: boolean
  /** Milliseconds since 1970. */
  readonly endsAt: number
  readonly pollMs: number
  readonly failures: number
}

/** The questions of one result. Answers are sent together. */
type InputState = {
  readonly at: 'input'
  readonly requests: JsonObject
  readonly given: JsonObject
  readonly key: string
  readonly round: number
  readonly requestState?: unknown
  /** The questions belong to this task. */
  readonly task?: TaskState
}
type StreamState = {
  readonly at: 'stream'
  readonly question: RpcMessage
  readonly place?: StreamPlace | undefined
  readonly hold: string
  readonly round: number
}
type State = InputState | StreamState | { readonly at: 'task'; readonly task: TaskState; readonly round: number }

const maxRounds = 10
const minPollMs = 1_000
const maxPollMs = 60_000
const maxTaskMs = 24 * 3_600_000
const maxPollFailures = 5

function limitRounds(round: number): void {
  if (round >= maxRounds) throw refuse(`The server asked more than ${maxRounds} times.`)
}

const refuse = (message: string): McpFailure => new McpFailure('rpc', message)

/** `first`: the answer to the call. Absent: the call goes on from its stored state. */
export async function finishCall(unfinished: UnfinishedCall, first?: Answered): Promise<Finished> {
  if (first) return settleAnswer(unfinished, first, 0)
  const state = JSON.parse(unfinished.context.continues?.state ?? '{}') as State
  switch (state.at) {
    case 'input':
      return takeAnswer(unfinished, state)
    case 'stream':
      return answerOnStream(unfinished, state)
    case 'task':
      return pollTask(unfinished, state.task, state.round)
    default:
      throw new Error('The call has no state to go on from.')
  }
}

async function settleAnswer(unfinished: UnfinishedCall, answered: Answered, round: number): Promise<Finished> {
  if ('asked' in answered) return keepStream(unfinished, answered.asked, round)
  const { result } = answered
  const { resultType, inputRequests, requestState, task } = result
  if (resultType === 'task') return startTask(unfinished, { task: result, isLegacy: false, round })
  // A call of the revision 2025-11-25 that was sent as a task.
  if (resultType === undefined && isJsonObject(task) && typeof task['taskId'] === 'string')
    return startTask(unfinished, { task, isLegacy: true, round })
  if (resultType === undefined || resultType === 'complete') return { result }
  if (resultType !== 'input_required')
    throw refuse(`The server answered with "${String(resultType)}", which is not known.`)
  const requests = readRequests(inputRequests, requestState !== undefined)
  return askNext(unfinished, { requests, given: {}, round, ...(requestState !== undefined && { requestState }) })
}

/** Only a state of the server makes the same request another one. */
function readRequests(given: unknown, hasState: boolean): JsonObject {
  const requests = isJsonObject(given) ? given : {}
  if (!Object.keys(requests).length && !hasState) throw refuse('The server asks for nothing.')
  return requests
}

// Questions that a result holds: the call is sent again with the answers.

type Asking = Omit<InputState, 'at' | 'key'>

async function askNext(unfinished: UnfinishedCall, asking: Asking, remark = ''): Promise<Finished> {
  const given: Record<string, unknown> = { ...asking.given }
  for (const [key, request] of Object.entries(asking.requests)) {
    if (key in given) continue
    const read = readRequest(unfinished, request)
    if ('declined' in read) given[key] = decline(unfinished, read.declined)
    else return { later: ask(unfinished, read, { at: 'input', ...asking, given, key } satisfies InputState, remark) }
  }
  return sendAnswers(unfinished, { ...asking, given })
}

function readRequest({ alias }: UnfinishedCall, request: unknown): ReadElicitation {
  const { method, params } = isJsonObject(request) ? request : {}
  if (method !== 'elicitation/create') throw refuse(`The server asks for "${String(method)}", which is not offered.`)
  return readElicitation(alias, isJsonObject(params) ? params : {})
}

/** Nobody has seen the question. Where nobody can be asked, that is no decision about it. */
function decline({ alias }: UnfinishedCall, reason: string) {
  log.warn('mcp.elicitation_declined', `A question of the MCP server ${alias} was declined: ${reason}.`)
  return { action: 'decline' as const }
}

function ask(
  { answerTimeout, context }: UnfinishedCall,
  { elicitation, question, choices }: Exclude<ReadElicitation, { declined: string }>,
  state: State,
  remark: string,
): PendingRequest {
  if (context.mayWaitFor !== undefined || answerTimeout === 0)
    throw refuse(
      context.mayWaitFor === 'nothing'
        ? 'The server asks a person, and a program cannot wait for one. Call the tool itself, outside of execute_code.'
        : 'The server asks a person, and nobody can be asked here.',
    )
  return {
    kind: 'question',
    question: [remark, question].filter(Boolean).join('\n\n'),
    choices,
    multiSelect: false,
    elicitation,
    state: JSON.stringify(state),
    until: clock.now() + answerTimeout * 1_000,
  }
}

async function takeAnswer(unfinished: UnfinishedCall, state: InputState): Promise<Finished> {
  const { at: _at, key, ...asking } = state
  const read = readRequest(unfinished, asking.requests[key])
  if ('declined' in read) throw refuse('The question of the server is not there any more.')
  const answer = readElicitationAnswer(read.elicitation, unfinished.context.continues?.answer ?? { action: 'cancel' })
  if ('error' in answer) return askNext(unfinished, asking, answer.error)
  return askNext(unfinished, { ...asking, given: { ...asking.given, [key]: answer.answer } })
}

async function sendAnswers(
  unfinished: UnfinishedCall,
  { given, requestState, task, round }: Asking,
): Promise<Finished> {
  limitRounds(round)
  if (task) {
    await requireResult(unfinished.send({ method: 'tasks/update', params: { taskId: task.id, inputResponses: given } }))
    return waitForTask(unfinished, task, round + 1)
  }
  const { method, params } = unfinished.call
  const again = { ...params, inputResponses: given, ...(requestState !== undefined && { requestState }) }
  return settleAnswer(unfinished, await unfinished.send({ method, params: again }), round + 1)
}

async function requireResult(sent: Promise<Answered>): Promise<JsonObject> {
  const answered = await sent
  if ('asked' in answered) throw refuse('The server asks while it tells the state of a task.')
  return answered.result
}

// Questions on the stream of a request. The stream stays open in memory; after an eviction another one reads on.

async function keepStream(unfinished: UnfinishedCall, asked: ServerQuestion, round: number): Promise<Finished> {
  limitRounds(round)
  const { question, place } = asked
  const read = readRequest(unfinished, question)
  if ('declined' in read) return settleLate(unfinished, asked.answer(decline(unfinished, read.declined)), round)
  return keepQuestion(unfinished, {
    read,
    asked,
    state: { at: 'stream', question, place, round, hold: crypto.randomUUID() },
  })
}

type KeptQuestion = {
  readonly read: Exclude<ReadElicitation, { declined: string }>
  readonly asked: ServerQuestion
  readonly state: StreamState
}

function keepQuestion(unfinished: UnfinishedCall, { read, asked, state }: KeptQuestion): Finished {
  const later = ask(unfinished, read, state, '')
  unfinished.context.kept?.set(state.hold, asked)
  return { later }
}

async function answerOnStream(unfinished: UnfinishedCall, state: StreamState): Promise<Finished> {
  const { question, place, hold, round } = state
  const { kept, continues } = unfinished.context
  const read = readRequest(unfinished, question)
  if ('declined' in read) throw refuse('The question of the server is not there any more.')
  const answer = readElicitationAnswer(read.elicitation, continues?.answer ?? { action: 'cancel' })
  if ('error' in answer) return { later: ask(unfinished, read, state, answer.error) }
  const asked = kept?.get(hold)
  kept?.delete(hold)
  if (asked instanceof ServerQuestion) return settleLate(unfinished, asked.answer({ ...answer.answer }), round)
  if (!place)
    throw new McpFailure(
      'transport',
      'The connection on which the server had asked was lost, and it cannot be continued.',
    )
  return settleAnswer(unfinished, await unfinished.answerLater(question, place, { ...answer.answer }), round + 1)
}

async function settleLate(unfinished: UnfinishedCall, result: Promise<JsonObject>, round: number): Promise<Finished> {
  return settleAnswer(unfinished, await catchQuestion(result), round + 1)
}

/** Makes a result of what a request brings. */
export async function catchQuestion(result: Promise<JsonObject>): Promise<Answered> {
  try {
    return { result: await result }
  } catch (error) {
    if (error instanceof ServerQuestion) return { asked: error }
    throw error
  }
}

// Tasks: the server works in the background, and the alarm polls it.

type StartedTask = { readonly task: JsonObject; readonly isLegacy: boolean; readonly round: number }

function startTask(unfinished: UnfinishedCall, { task, isLegacy, round }: StartedTask): Finished {
  const { taskId } = task
  if (typeof taskId !== 'string' || taskId === '' || taskId.length > 512)
    throw refuse('The task of the server has no id.')
  const ttlMs = task['ttlMs'] ?? task['ttl']
  const lasts = typeof ttlMs === 'number' && ttlMs > 0 ? Math.min(ttlMs, maxTaskMs) : maxTaskMs
  const state = { id: taskId, isLegacy, endsAt: clock.now() + lasts, pollMs: minPollMs, failures: 0 }
  return waitForTask(unfinished, { ...state, pollMs: pollOf(task, minPollMs) }, round)
}

/** The pause that the server asks for, else a growing one. */
function pollOf(task: JsonObject, otherwise: number): number {
  const wanted = task['pollIntervalMs'] ?? task['pollInterval']
  const ms = typeof wanted === 'number' && Number.isFinite(wanted) ? wanted : otherwise
  return Math.max(minPollMs, Math.min(maxPollMs, ms))
}

function waitForTask({ context, alias }: UnfinishedCall, task: TaskState, round: number): Finished {
  if (context.mayWaitFor === 'nothing')
    throw refuse(
      `The server goes on in the background (task ${task.id}), and a program cannot wait for it. Call the tool itself, outside of execute_code.`,
    )
  const until = Math.min(task.endsAt, clock.now() + task.pollMs)
  const state = JSON.stringify({ at: 'task', task, round } satisfies State)
  return { later: { kind: 'task', server: alias, workId: task.id, state, until } }
}

async function pollTask(unfinished: UnfinishedCall, task: TaskState, round: number): Promise<Finished> {
  try {
    const found = await requireResult(unfinished.send({ method: 'tasks/get', params: { taskId: task.id } }))
    return await settlePoll(unfinished, { found, task, round })
  } catch (error) {
    if (!(error instanceof McpFailure) || error.kind !== 'transport' || task.failures >= maxPollFailures) throw error
    return waitForTask(unfinished, { ...task, failures: task.failures + 1, pollMs: nextPoll(task) }, round)
  }
}

const legacyResults: readonly unknown[] = ['input_required', 'completed', 'failed']

async function settlePoll(unfinished: UnfinishedCall, { found, task, round }: FoundTask): Promise<Finished> {
  const { status, statusMessage } = found
  if (typeof statusMessage === 'string' && statusMessage) unfinished.context.reportProgress?.(`${statusMessage}\n`)
  const after = { ...task, failures: 0, pollMs: pollOf(found, nextPoll(task)) }
  if (status === 'working') {
    if (task.endsAt > clock.now()) return waitForTask(unfinished, after, round)
    throw refuse('The task of the server did not end in the time that the server had named.')
  }
  if (task.isLegacy && legacyResults.includes(status)) return readTaskResult(unfinished, task, round)
  return status === 'input_required' ? askForTask(unfinished, { found, task: after, round }) : { result: endOf(found) }
}

/** Throws when the task has no result. */
function endOf(found: JsonObject): JsonObject {
  const { status, statusMessage } = found
  switch (status) {
    case 'completed':
      return resultIn(found)
    case 'failed':
      throw refuse(`The task of the server failed: ${describeError(found)}`)
    case 'cancelled':
      throw refuse(
        `The server has cancelled the task.${statusMessage ? ` ${String(statusMessage).slice(0, 500)}` : ''}`,
      )
    default:
      throw refuse(`The task of the server has the unknown status "${String(status)}".`)
  }
}

const nextPoll = ({ pollMs }: TaskState): number => Math.min(maxPollMs, pollMs * 1.5)

function resultIn({ result }: JsonObject): JsonObject {
  if (!isJsonObject(result)) throw refuse('The task of the server is complete and has no result.')
  return result
}

function describeError({ error, statusMessage }: JsonObject): string {
  const message = isJsonObject(error) ? error['message'] : statusMessage
  return typeof message === 'string' && message ? message.slice(0, 1_000) : 'it gave no reason.'
}

/** Until the task ends, its questions come on this stream. */
const readTaskResult = async (unfinished: UnfinishedCall, { id }: TaskState, round: number): Promise<Finished> => {
  const answered = await unfinished.send({ method: 'tasks/result', params: { taskId: id } })
  return settleAnswer(unfinished, answered, round + 1)
}

type FoundTask = { readonly found: JsonObject; readonly task: TaskState; readonly round: number }

/** The server repeats its questions until they are answered, so nothing else is kept of them. */
function askForTask(unfinished: UnfinishedCall, { found, task, round }: FoundTask): Promise<Finished> {
  const { inputRequests } = found
  return askNext(unfinished, {
    requests: isJsonObject(inputRequests) ? inputRequests : {},
    given: {},
    round,
    task,
  })
}
