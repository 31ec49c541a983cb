/** Runs sessions for `POST /ag-ui`: submits what the client brings, and streams the run as events of AG-UI. */

import { foreignMarks } from '#agent/core/marks.ts'
import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import { withMarks } from '#agent/core/permission/authority.ts'
import { isRunOf, sessionNamePattern, splitAtDot } from '#agent/core/session-name.ts'
import { SharedState, stateToolSchema } from '#agent/public-api/ag-ui-state.ts'
import {
  type AgUiAnswer,
  type AgUiCallResult,
  AgUiRenderer,
  fieldOf,
  readLastMessage,
  readResume,
  readToolResults,
  renderAgUiEvent,
} from '#agent/public-api/ag-ui.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { newRunId, sessionOfRun } from '#durable/platform/ids.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import { workspaceToolsets } from '#tools/toolsets.ts'
import { requireScope } from '../auth.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { eventStreamHeaders } from '../headers.ts'
import { parseClientTools } from '../responses/client-tools.ts'
import type { ResponseBody } from '../responses/response-body.ts'
import { type ResponseCommand, submitResponse } from '../responses/submit-response.ts'
import { addressSession, requireFound, splitRequestId } from '../sessions.ts'
import { follow, submitNow } from '../submit.ts'
import type { AgUiCall } from './ag-ui.ts'
import { decideApproval, decisionSchema } from './approvals.ts'
import { translateStream } from './event-translation.ts'

/** A name that no session can have stands for a session of its own. */
const sessionNameOf = async (threadId: string): Promise<string> =>
  sessionNamePattern.test(threadId) ? threadId : `agui-${await sha256Hex(threadId, 16)}`

export async function serveAgUi(given: AgUiCall): Promise<Response> {
  const client = readClient(given.body)
  const { body } = given
  // An interface shows what others have written. The runs of its person hold that.
  const call = client.instructions ? { ...given, authority: withMarks(given.authority, foreignMarks) } : given
  if (body.resume?.length) return resumeRun(call, body.resume, client)
  const results = readToolResults(body.messages, new Set(client.tools.map((tool) => tool.name)))
  const text = readLastMessage(body.messages)?.trim()
  if (!text && !results.length) throw invalid('messages has no message of a person with a text.', 'messages')
  const { threadId, runId } = body
  const sessionId = await sessionNameOf(threadId)
  const input = results.length
    ? results.map(({ callId, output }) => ({ type: 'function_call_output' as const, call_id: callId, output }))
    : (text ?? '')
  const started = await submit(call, { client, input, sessionId })
  return streamRun(call, { ...started, after: 0, names: { threadId, runId }, state: client.state })
}

const maxClientChars = 50_000

/** The tools, the state and the context that the client brings. */
function readClient({ tools, state: given, context }: AgUiCall['body']) {
  const hasState = isJsonObject(given) && Object.keys(given).length > 0
  const state = hasState ? new SharedState(given) : undefined
  const instructions = [
    ...(context ?? []).map(({ description, value }) => `${description}:\n${value}`),
    ...(hasState ? [`The state of the interface, which update_state changes:\n${JSON.stringify(given)}`] : []),
  ].join('\n\n')
  if (instructions.length > maxClientChars)
    throw invalid(`state and context: at most ${maxClientChars} characters together.`, hasState ? 'state' : 'context')
  const own = (tools ?? []).map(({ name: tool, description, parameters }) => ({
    type: 'function' as const,
    name: tool,
    description,
    parameters,
  }))
  const { name: stateName, description, inputSchema: parameters } = stateToolSchema
  const all = state
    ? [...own, { type: 'function' as const, name: stateName, description, parameters: { ...parameters } }]
    : own
  if (state && own.some((tool) => tool.name === stateName))
    throw invalid(`tools: ${stateName} is the tool that changes the state. Give yours another name.`, 'tools')
  // A client that runs tools has a workspace of its own. One that only shows a state has none.
  return { state, tools: all, instructions, ...(!own.length && { keptToolsets: workspaceToolsets }) }
}

type Submitting = {
  readonly client: ReturnType<typeof readClient>
  readonly input: ResponseBody['input']
  readonly sessionId: string
}

/** Starts a run, or goes on with the one that waits for these results. */
async function submit(call: AgUiCall, { client, input, sessionId }: Submitting) {
  const { keptToolsets, tools, instructions } = client
  const body = { input, conversation: sessionId, ...(tools.length && { tools }), ...(instructions && { instructions }) }
  let started: Pick<StreamedRun, 'sessionId' | 'runId' | 'segment' | 'command'> | undefined
  await submitResponse({ ...call, body, keptToolsets }, async ({ ids, command }) => {
    const session = addressSession(call.env, call.tenant.id, ids.sessionId)
    const submitted = await submitNow(session, command, ids)
    const segment = 'segment' in submitted ? submitted.segment : undefined
    started = { sessionId: ids.sessionId, runId: submitted.runId, segment, command }
    return new Response(null, { status: 202 })
  })
  if (!started) throw new Error('A submission returns a run or throws.')
  return started
}

type Continuing = Pick<ResponseCommand, 'authority' | 'tenant' | 'options'>

type StreamedRun = {
  readonly sessionId: string
  readonly runId: string
  readonly after: number
  /** Those of the client. */
  readonly names: { readonly threadId: string; readonly runId: string }
  readonly state?: SharedState | undefined
  readonly segment?: number | undefined
  /** Has started the run, or continued it. */
  readonly command?: Continuing
}

async function streamRun({ env, tenant, authority }: AgUiCall, run: StreamedRun): Promise<Response> {
  const { sessionId, runId, after, names, state, segment, command } = run
  const session = addressSession(env, tenant.id, sessionId)
  const events = await follow(session, { authority, runId, format: { as: 'events', after } })
  const renderer = new AgUiRenderer(names, { state, segment })
  const isWaiting = async ({ type }: JsonObject) =>
    (type === 'question.request' || type === 'approval.request') &&
    (await session.runs.get(authority, runId))?.status === 'waiting'
  const stream = translateStream(events.body, {
    begin: () => renderer.begin().map(renderAgUiEvent).join(''),
    render: async (event) => {
      const rendered = renderer.render(event)
      if (event['type'] === 'run.waiting' && command)
        await handStateResults(session, command, runId, renderer.takeResults())
      const interrupt = (await isWaiting(event)) ? renderer.interrupt(event) : []
      return [...rendered, ...interrupt].map(renderAgUiEvent).join('')
    },
    end: () => renderer.breakOff().map(renderAgUiEvent).join(''),
    isOver: () => renderer.hasEnded,
  })
  return new Response(stream, { headers: eventStreamHeaders })
}

/** The changes of the state were made here: the run goes on without another request of the client. */
async function handStateResults(
  session: DurableObjectStub<SessionDO>,
  { authority, tenant, options }: Continuing,
  runId: string,
  results: readonly AgUiCallResult[],
): Promise<void> {
  if (!results.length) return
  await session.runs.submit({
    kind: 'continue',
    authority,
    tenant,
    options,
    runId: newRunId(sessionOfRun(runId) ?? ''),
    busyMode: undefined,
    idempotency: 'none',
    continues: runId,
    results: results.map(({ callId, output: text, failed }) => ({ callId, failed, content: [{ type: 'text', text }] })),
    approvals: [],
  })
}

/** Hands the answers of a person over, and streams what the run does then. */
async function resumeRun(
  call: AgUiCall,
  entries: readonly JsonObject[],
  client: ReturnType<typeof readClient>,
): Promise<Response> {
  const { threadId, runId: ownName } = call.body
  const answers = entries.map((entry) => {
    const answer = readResume(entry)
    if (!answer) throw invalid('resume names an interrupt that does not exist.', 'resume')
    return answer
  })
  const [{ id = '', after = 0 } = {}] = answers
  const [sessionId, request] = splitRequestId(id)
  const [runId] = splitAtDot(request, (run) => isRunOf(run, sessionId)) ?? []
  const isOwn = sessionId === (await sessionNameOf(threadId))
  if (runId === undefined || !isOwn || answers.some((answer) => !answer.id.startsWith(`${sessionId}.${runId}.`)))
    throw notFound()
  requireFound((await addressSession(call.env, call.tenant.id, sessionId).runs.get(call.authority, runId)) ?? undefined)
  for (const answer of answers) await handOver(call, answer)
  const { state, tools, instructions, keptToolsets } = client
  const options = {
    ...parseClientTools({ tools }),
    ...(instructions && { instructions }),
    ...(keptToolsets && { toolsets: keptToolsets }),
  }
  const command = { authority: call.authority, tenant: call.tenant, options }
  return streamRun(call, { sessionId, runId, after, names: { threadId, runId: ownName }, state, command })
}

async function handOver(call: AgUiCall, { kind, id, payload }: AgUiAnswer): Promise<void> {
  const { env, tenant, authority } = call
  if (kind === 'approval') {
    requireScope(authority, 'approve')
    const { data = 'deny' } = decisionSchema.shape.decision.safeParse(fieldOf(payload, 'decision'))
    return decideApproval(call, id, { decision: data })
  }
  const given = fieldOf(payload, 'answer')
  const text = typeof given === 'string' && given.trim() ? given : 'The user gives no answer.'
  const [sessionId, asked] = splitRequestId(id)
  const answered = await addressSession(env, tenant.id, sessionId).pending.answer(authority, asked, text)
  if (typeof answered === 'string') throw invalid(answered, 'resume')
  if (!answered) throw new AppError(409, 'conflict', 'This question has been answered, or the turn has ended.')
  return undefined
}
