/** `POST /ag-ui`: runs of sessions for user interfaces that speak AG-UI. A thread is a session. */

import * as z from 'zod'
import { toolName } from '../chat/tools.ts'
import { type RouteCall, route } from '../route.ts'

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
  tools: z
    .array(
      z.looseObject({ name: toolName, description: z.string().nullish(), parameters: z.looseObject({}).nullish() }),
    )
    .max(256)
    .nullish()
    .describe('Tools that the client runs. Their results come as messages of the next request.'),
  state: z.unknown().optional().describe('Shared with the agent, which changes it, where it is an object with fields.'),
  context: z
    .array(z.looseObject({ description: z.string(), value: z.string() }))
    .max(100)
    .nullish()
    .describe('What the agent should know in this run.'),
})

export type AgUiCall = RouteCall<unknown, z.infer<typeof inputSchema>>

export const agUiRoutes = [
  route({
    method: 'post',
    path: '/ag-ui',
    id: 'runAgUi',
    scope: 'chat',
    tag: 'Chat',
    summary: 'Send a message and stream the run as events of AG-UI',
    description:
      'The input is `RunAgentInput` of AG-UI. `threadId` is the session. A run that waits for a person ends the run of the client with an interrupt, which `resume` answers. Tools of the client are calls that end its run; the next request brings their results. The agent changes `state` with `STATE_DELTA`.',
    example: { threadId: 'thread-1', runId: 'run-1', messages: [{ id: '1', role: 'user', content: 'Say hello.' }] },
    body: inputSchema,
    responses: { 200: { description: 'Events of AG-UI', type: 'text/event-stream' } },
    handle: async (call) => (await import('./ag-ui-runs.ts')).serveAgUi(call),
  }),
]
