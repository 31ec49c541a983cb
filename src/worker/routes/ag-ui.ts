/** `POST /ag-ui`: runs of sessions for user interfaces that speak AG-UI. A thread is a session. */

import * as z from 'zod'
import type { JsonObject } from '#agent/core/parse-json.ts'
import type { AgUiAnswer } from '#agent/public-api/ag-ui.ts'
import { isRunOf, sessionNamePattern, splitAtDot } from '#agent/core/session-name.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { requireScope } from '../auth.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { eventStreamHeaders } from '../headers.ts'
import { type RouteCall, route } from '../route.ts'
import { addressSession, requireFound, splitRequestId } from '../sessions.ts'
import { follow } from '../submit.ts'
import { decideApproval, decisionSchema } from './approvals.ts'
import { startRun } from './v1/runs.ts'

const name = z.string().min(1).max(200)
const inputSchema = z.looseObject({
  threadId: name.describe('The session: it is continued, or made.'),
  runId: name.describe('Comes back in the events.'),
  messages: z
    .array(z.looseObject({ role: z.string() }))
    .min(1)
    .max(20_000)
    .describe('The last one of the person is answered.'),
  resume: z
    .array(z.looseObject({ interruptId: name }))
    .max(50)
    .optional()
    .describe('Answers to interrupts.'),
})

/** A name that no session can have stands for a session of its own. */
const sessionNameOf = async (threadId: string): Promise<string> =>
  sessionNamePattern.test(threadId) ? threadId : `agui-${await sha256Hex(threadId, 16)}`

type AgUiCall = RouteCall<unknown, z.infer<typeof inputSchema>>

async function serve(call: AgUiCall): Promise<Response> {
  const { body } = call
  if (body.resume?.length) return resumeRun(call, body.resume)
  const { readLastMessage } = await import('#agent/public-api/ag-ui.ts')
  const input = readLastMessage(body.messages)?.trim()
  if (!input) throw invalid('messages has no message of a person with a text.', 'messages')
  const { threadId, runId } = body
  const started = await startRun({ ...call, body: { input, session_id: await sessionNameOf(threadId) } })
  const { run_id: ownRunId, session_id: sessionId } = (await started.json()) as { run_id: string; session_id: string }
  return streamRun(call, { sessionId, runId: ownRunId, after: 0, names: { threadId, runId } })
}

type StreamedRun = {
  readonly sessionId: string
  readonly runId: string
  readonly after: number
  /** Those of the client. */
  readonly names: { readonly threadId: string; readonly runId: string }
}

async function streamRun(
  { env, tenant, authority }: AgUiCall,
  { sessionId, runId, after, names }: StreamedRun,
): Promise<Response> {
  const session = addressSession(env, tenant.id, sessionId)
  const events = await follow(session, { authority, runId, format: { as: 'events', after } })
  const { AgUiRenderer, renderAgUiEvent } = await import('#agent/public-api/ag-ui.ts')
  const { translateStream } = await import('./event-translation.ts')
  const renderer = new AgUiRenderer(names)
  const isWaiting = async ({ type }: JsonObject) =>
    (type === 'question.request' || type === 'approval.request') &&
    (await session.runs.get(authority, runId))?.status === 'waiting'
  const stream = translateStream(events.body, {
    begin: () => renderer.begin().map(renderAgUiEvent).join(''),
    render: async (event) => {
      const rendered = renderer.render(event)
      const interrupt = (await isWaiting(event)) ? renderer.interrupt(event) : []
      return [...rendered, ...interrupt].map(renderAgUiEvent).join('')
    },
    end: () => renderer.breakOff().map(renderAgUiEvent).join(''),
    isOver: () => renderer.hasEnded,
  })
  return new Response(stream, { headers: eventStreamHeaders })
}

/** Hands the answers of a person over, and streams what the run does then. */
async function resumeRun(call: AgUiCall, entries: readonly JsonObject[]): Promise<Response> {
  const { readResume } = await import('#agent/public-api/ag-ui.ts')
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
  return streamRun(call, { sessionId, runId, after, names: { threadId, runId: ownName } })
}

async function handOver(call: AgUiCall, { kind, id, payload }: AgUiAnswer): Promise<void> {
  const { fieldOf } = await import('#agent/public-api/ag-ui.ts')
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

export const agUiRoutes = [
  route({
    method: 'post',
    path: '/ag-ui',
    id: 'runAgUi',
    scope: 'chat',
    tag: 'Chat',
    summary: 'Send a message and stream the run as events of AG-UI',
    description:
      'The input is `RunAgentInput` of AG-UI. `threadId` is the session. A run that waits for a person ends the run of the client with an interrupt, which `resume` answers. State, context and tools of the client are not used.',
    example: { threadId: 'thread-1', runId: 'run-1', messages: [{ id: '1', role: 'user', content: 'Say hello.' }] },
    body: inputSchema,
    responses: { 200: { description: 'Events of AG-UI', type: 'text/event-stream' } },
    handle: serve,
  }),
]
