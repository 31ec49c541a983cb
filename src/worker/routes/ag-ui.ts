/** `POST /ag-ui`: runs of sessions for user interfaces that speak AG-UI. A thread is a session. */

import * as z from 'zod'
import { sessionNamePattern } from '#agent/core/session-name.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { invalid } from '../errors.ts'
import { eventStreamHeaders } from '../headers.ts'
import { type RouteCall, route } from '../route.ts'
import { addressSession } from '../sessions.ts'
import { follow } from '../submit.ts'
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
})

/** A name that no session can have stands for a session of its own. */
const sessionNameOf = async (threadId: string): Promise<string> =>
  sessionNamePattern.test(threadId) ? threadId : `agui-${await sha256Hex(threadId, 16)}`

async function serve(call: RouteCall<unknown, z.infer<typeof inputSchema>>): Promise<Response> {
  const { env, tenant, authority, body } = call
  const { AgUiRenderer, readLastMessage, renderAgUiEvent } = await import('#agent/public-api/ag-ui.ts')
  const input = readLastMessage(body.messages)?.trim()
  if (!input) throw invalid('messages has no message of a person with a text.', 'messages')
  const { threadId, runId } = body
  const started = await startRun({ ...call, body: { input, session_id: await sessionNameOf(threadId) } })
  const { run_id: ownRunId, session_id: sessionId } = (await started.json()) as { run_id: string; session_id: string }
  const session = addressSession(env, tenant.id, sessionId)
  const events = await follow(session, { authority, runId: ownRunId, format: { as: 'events' } })
  const { translateStream } = await import('./event-translation.ts')
  const renderer = new AgUiRenderer({ threadId, runId })
  const stream = translateStream(events.body, {
    begin: () => renderer.begin().map(renderAgUiEvent).join(''),
    render: (event) => renderer.render(event).map(renderAgUiEvent).join(''),
    end: () => renderer.breakOff().map(renderAgUiEvent).join(''),
  })
  return new Response(stream, { headers: eventStreamHeaders })
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
      'The input is `RunAgentInput` of AG-UI. `threadId` is the session. State, context and tools of the client are not used.',
    example: { threadId: 'thread-1', runId: 'run-1', messages: [{ id: '1', role: 'user', content: 'Say hello.' }] },
    body: inputSchema,
    responses: { 200: { description: 'Events of AG-UI', type: 'text/event-stream' } },
    handle: serve,
  }),
]
