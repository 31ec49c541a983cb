/**
 * Submits a request of the Responses API: continues the run that waits for it, or starts one in the session that it
 * names, in a fork of that session, or in a new one.
 */

import { hasScope } from '#agent/core/permission/authority.ts'
import type { Message, OpeningMessage, ToolMessage } from '#agent/core/message.ts'
import { parseItemId } from '#agent/public-api/responses/item-ids.ts'
import type { ContinueSubmission } from '#durable/session/intake/continue.ts'
import type { RequestSubmission, RequestTarget } from '#durable/session/intake/request.ts'
import type { Location } from '#durable/session/views/locate-response.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { type ConversationHashes, hashConversation } from '../chat/conversation-hash.ts'
import { recordContinuation } from '../chat/find-conversation.ts'
import { completeHistory } from '../chat/messages.ts'
import { AppError, invalid } from '../errors.ts'
import { submitInFork } from '../fork.ts'
import { resolveEarlierFiles, resolveFiles } from '../files/uploads.ts'
import { claimIds, joinedIds, type RequestIds } from '../idempotency.ts'
import { limitToolsets, namedToolsets } from '../input/limit-toolsets.ts'
import { readWithSessionSettings } from '../input/settings-patch.ts'
import { parseTurnOptions } from '../input/turn-options.ts'
import { idempotencyOf, Superseded } from '../submit.ts'
import { listAnswers, type ContinuedRun, findByHistory, findContinuedRun, findSession } from './continued-run.ts'
import { type CreateCall, mergeResponseOptions, type ResponseBody } from './response-body.ts'
import { joinText, type ParsedInput, parseInput, toContentParts, toToolMessage } from './response-input.ts'
import {
  type CallItem,
  type CompactionItem,
  type KnownInputItem,
  isMessage,
  isSystem,
  isUser,
  parseItems,
  type PlacedItem,
  type ResultItem,
} from './response-items.ts'
import { resolveReferences } from './resolve-references.ts'
import type { ChatMessage } from '../chat/schema.ts'

export type ResponseCommand = RequestSubmission | ContinueSubmission

export type SubmittedResponse = {
  readonly ids: RequestIds
  readonly command: ResponseCommand
  /** The session is deleted after the answer. */
  readonly isEphemeral: boolean
}

/** Parses the request, finds or forks its session, and lets `submitCommand` submit and answer. */
export async function submitResponse(
  call: CreateCall,
  submitCommand: (submitted: SubmittedResponse) => Promise<Response>,
): Promise<Response> {
  const { body: request } = call
  refuseUnsupported(request)
  const items = await resolveReferences(call, parseItems(request.input))
  const parsed = await resolveNewFiles(parseInput(items, request.instructions ?? ''), call)
  const named = findSession(call)
  if (named && parsed.history.length)
    throw invalid('Earlier messages are already stored. Send only the new ones.', 'input')
  const hashes = isKnownByHistory(request) ? hashItems(call, items) : undefined
  const continued = (await findContinuedRun(call, parsed)) ?? (await findByHistory(call, parsed, hashes))
  const fields = await readFields(call, continued?.byHistory ? continued.session : named, parsed)
  const submitTo = (run: ContinuedRun | undefined) => {
    const submit = run?.at && isAnswer(run, parsed) ? continueRun : startRun
    return submit(call, { continued: run, parsed, fields, hashes }, submitCommand)
  }
  try {
    return await submitTo(continued)
  } catch (error) {
    if (!(error instanceof Superseded) || continued?.byHistory !== 'continue') throw error
    // Another request continued the conversation at the same moment.
    return submitTo({ ...continued, byHistory: 'branch' })
  }
}

async function resolveNewFiles(parsed: ParsedInput, call: CreateCall): Promise<ParsedInput> {
  const message = parsed.message && (await resolveFiles(parsed.message, call, 'input'))
  const results = await Promise.all(parsed.results.map((result) => resolveFiles(result, call, 'input')))
  return { ...parsed, results, ...(message && { message }) }
}

/** The settings of the session that goes on count, too. */
async function readFields(call: CreateCall, session: ContinuedRun['session'] | undefined, parsed: ParsedInput) {
  const { body: request, env, tenant } = call
  const authority = await limitToolsets(call, session)
  const read = (snapshot: TenantSnapshot) => parseTurnOptions(request, env, snapshot, { openAiNames: true })
  const sessionOptions = session ? await readWithSessionSettings(session, call, read) : read(tenant)
  const options = { ...mergeResponseOptions(request, sessionOptions, parsed.instructions), ...namedToolsets(call) }
  return { authority, options, tenant }
}

/** Requests without a name are known by their words, unless nothing is to remain of them. */
const isKnownByHistory = ({ conversation, previous_response_id: previous, store }: ResponseBody): boolean =>
  !conversation && !previous && store !== false

type SubmissionFields = Pick<RequestSubmission, 'authority' | 'options' | 'tenant'>
type ResponseContext = {
  readonly continued: ContinuedRun | undefined
  readonly parsed: ParsedInput
  readonly fields: SubmissionFields
  /** Absent: the request names its session, or leaves none. */
  readonly hashes: ConversationHashes | undefined
}
type SubmissionResponder = (submitted: SubmittedResponse) => Promise<Response>

function refuseUnsupported({ conversation, previous_response_id: previous, store, background }: ResponseBody): void {
  if (conversation && previous)
    throw invalid('Send either conversation or previous_response_id, not both.', 'previous_response_id')
  if (store === false && (conversation || background))
    throw invalid(`store: false cannot be combined with ${conversation ? 'conversation' : 'background'}.`, 'store')
}

/** Whether the request answers what the run waits for, or speaks to it meanwhile. */
const isAnswer = ({ at, byHistory = 'continue' }: ContinuedRun, { results, approvals }: ParsedInput): boolean =>
  byHistory === 'continue' && (results.length > 0 || approvals.length > 0 || at?.state === 'waiting')

async function continueRun(
  call: CreateCall,
  { continued, parsed, fields, hashes }: ResponseContext,
  submitCommand: SubmissionResponder,
): Promise<Response> {
  const { at, segment, sessionId } = continued as ContinuedRun
  if (!at) throw invalid('There is no call that waits for a result.', 'input')
  if (segment !== undefined && segment < at.segments - 1 && !parsed.results.length)
    throw new AppError(409, 'conflict', 'The run has gone on since that response. Continue its last response.', {
      param: 'previous_response_id',
    })
  if (parsed.approvals.length && !hasScope(fields.authority, 'approve'))
    throw new AppError(403, 'insufficient_scope', 'Answering an approval needs the scope "approve".', {
      param: 'input',
    })
  const ids = await claimIds(call, sessionId)
  const command: ContinueSubmission = {
    kind: 'continue',
    ...fields,
    runId: ids.runId,
    busyMode: undefined,
    idempotency: idempotencyOf(ids),
    continues: at.runId,
    ...listAnswers(parsed, at),
    message: parsed.message,
  }
  const isEphemeral = fields.options.response?.isUnstored === true && !ids.repeatable
  const answer = await submitCommand({ ids, command, isEphemeral })
  if (hashes && parsed.message) await recordContinued(call, hashes, { sessionId, at, answer })
  return answer
}

type Answered = { readonly sessionId: string; readonly at: Location; readonly answer: Response }

/** A message is answered by the run that waits, or by one that is queued behind it: only the session knows. */
function recordContinued(call: CreateCall, hashes: ConversationHashes, { sessionId, at, answer }: Answered) {
  const runId = answer.headers.get('x-talaria-run-id') ?? at.runId
  return recordContinuation(call, hashes, { sessionId, runId, segment: runId === at.runId ? at.segments : 0 })
}

async function startRun(
  call: CreateCall,
  { continued, parsed, fields, hashes }: ResponseContext,
  submitCommand: SubmissionResponder,
): Promise<Response> {
  const { body: request } = call
  const { message, history } = createOpening(parsed)
  const isStored = request.store !== false
  const isSame = canContinueIn(continued, isStored || continued?.isUnstored === true)
  const joined = findJoined(continued)
  // A session that exists has the history.
  const earlier = continued ? history : await resolveEarlierFiles(history, call)
  const ids = joined ?? (await claimIds(call, isSame ? continued?.sessionId : undefined))
  // A repeated request with an idempotency key must find its answer, so its session stays.
  const isEphemeral = !isStored && !ids.repeatable
  const isBranch = continued !== undefined && ids.sessionId !== continued.sessionId
  const command: RequestSubmission = {
    kind: 'request',
    ...fields,
    runId: ids.runId,
    message,
    busyMode: 'queue',
    readsParts: true,
    idempotency: joined ? 'repeat' : idempotencyOf(ids),
    target: createTarget(call, { continued, isBranch, isEphemeral, history: earlier, isReplayed: ids.replayed }),
  }
  const submitRequest = async () => {
    const recording = joined ? undefined : recordStart(call, hashes, ids)
    const [answer] = await Promise.all([submitCommand({ ids, command, isEphemeral }), recording])
    return answer
  }
  return isBranch ? submitInFork(call, { ids, ...createFork(continued, isEphemeral) }, submitRequest) : submitRequest()
}

/** The ids of the run that answers an earlier try of the request. */
const findJoined = (continued: ContinuedRun | undefined): RequestIds | undefined =>
  continued?.byHistory === 'join' && continued.at
    ? joinedIds({ sessionId: continued.sessionId, runId: continued.at.runId })
    : undefined

async function recordStart(call: CreateCall, hashes: ConversationHashes | undefined, { sessionId, runId }: RequestIds) {
  if (hashes) await recordContinuation(call, hashes, { sessionId, runId, segment: 0 })
}

/** Clients that send their words again expect the files of that time, as with chat completions. */
const createFork = ({ session: source, sessionId: parentId, at, byHistory }: ContinuedRun, isEphemeral: boolean) => ({
  source,
  spec: { source: 'api', parentId, ephemeral: isEphemeral },
  ...(at && { upTo: at.runId }),
  withEarlierFiles: byHistory !== undefined,
})

/** Results without a run that waits for them end the history that the client sent. */
function createOpening({ message, history, results, approvals }: ParsedInput): {
  readonly message: OpeningMessage
  readonly history: readonly Message[]
} {
  if (approvals.length && !message)
    throw invalid('The run of this approval is not known. Send its response id.', 'input')
  const names = new Map(
    history.flatMap(({ content }) =>
      content.flatMap((part) => (part.type === 'call' ? [[part.id, part.name] as const] : [])),
    ),
  )
  const received = results.map((result) => toToolMessage(result, names.get(result.callId)))
  const last = message ? { role: 'user' as const, content: '' } : (received.at(-1) as ToolMessage)
  const before = message ? received : received.slice(0, -1)
  const conversation = { instructions: '', results: [], history: [...history, ...before], last }
  const complete = completeHistory(conversation, 'input')
  return { message: message ?? (complete.opening as ToolMessage), history: complete.history }
}

/** A stored response continues in the session of the response before it, as long as that is its last one. */
function canContinueIn(continued: ContinuedRun | undefined, isStored: boolean): boolean {
  if (!continued || continued.byHistory === 'branch') return false
  const { at } = continued
  if (!at) return true
  if (at.state !== 'ended' && !isStored)
    throw new AppError(409, 'conflict', 'The previous response is not complete yet.', { param: 'previous_response_id' })
  return isStored && (at.isLast || at.state !== 'ended')
}

type ResponseTarget = {
  readonly continued: ContinuedRun | undefined
  readonly isBranch: boolean
  readonly isEphemeral: boolean
  readonly history: readonly Message[]
  readonly isReplayed: boolean
}

/** Another request may continue from the same response at the same moment: `after` refuses the later one. */
function createTarget({ body }: CreateCall, target: ResponseTarget): RequestTarget {
  const { continued, isBranch, isEphemeral, history, isReplayed } = target
  if (isBranch || continued?.byHistory === 'join') return { kind: 'existing' }
  if ((body.previous_response_id || continued?.byHistory) && continued?.at)
    return { kind: 'after', runId: continued.at.runId }
  const isNewId = !continued && !isReplayed
  return { kind: 'create', spec: { source: 'api', ephemeral: isEphemeral }, history, isNewId }
}

/** The ids of items name their session, where words alone would fit several. */
function hashItems(call: CreateCall, items: readonly PlacedItem[]): ConversationHashes {
  const hashes = hashConversation(call, toSpokenMessages(items))
  const last = items.findLast(({ one }) => isMessage(one) && one.role === 'assistant')
  const sessionId = last && parseItemId(String(last.one.id ?? ''))?.sessionId
  return hashes.answered && sessionId !== undefined
    ? { ...hashes, answered: { ...hashes.answered, sessionId } }
    : hashes
}

/**
 * Reads input items as the messages of a chat completion, so that both APIs know a conversation by the same hash. What
 * clients may leave out is left out: reasoning, calls of the agent, approvals.
 */
const toSpokenMessages = (items: readonly PlacedItem[]): readonly ChatMessage[] =>
  items.flatMap(({ one }) => toMessage(one) ?? [])

function toMessage(one: KnownInputItem): ChatMessage | undefined {
  if (isSystem(one)) return undefined
  if (isUser(one)) return { role: 'user', content: [...toContentParts(one.content)] }
  if (isMessage(one)) return { role: 'assistant', content: joinText(one.content) }
  switch (one.type) {
    case 'function_call': {
      const { call_id: id, name, arguments: json } = one as CallItem
      return { role: 'assistant', tool_calls: [{ id, function: { name, arguments: json } }] }
    }
    case 'function_call_output': {
      const { call_id: id, output } = one as ResultItem
      return { role: 'tool', tool_call_id: id, content: JSON.stringify(output) }
    }
    case 'compaction':
      return { role: 'tool', tool_call_id: 'compaction', content: (one as CompactionItem).encrypted_content }
    default:
      return undefined
  }
}
