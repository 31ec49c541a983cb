/**
 * `POST /v1/responses`: serves OpenAI's Responses API. A response is a run of a session, or a part of one. Its id contains
 * both ids, so that nothing else has to be stored or looked up.
 */

import { invalid } from '../../errors.ts'
import { idempotencyKeyHeader, toolsetsHeader } from '../../headers.ts'
import { responseBody } from '../../responses/response-body.ts'
import { responseShape } from '../../responses/response-shape.ts'
import { route } from '../../route.ts'

export const responseRoutes = [
  route({
    method: 'post',
    path: '/v1/responses',
    id: 'createResponse',
    scope: 'chat',
    tag: 'OpenAI',
    summary: 'Ask the agent, or continue a response or conversation',
    description:
      'A response is a run of a session. `previous_response_id` or `conversation` continues it. ' +
      'With `stream: true` the answer is a stream of `ResponseStreamEvent`.',
    example: { model: 'talaria', input: 'Summarise report.md in three sentences.' },
    headers: [idempotencyKeyHeader, toolsetsHeader],
    body: responseBody,
    responses: {
      200: {
        description: 'The response, or its events when stream is true',
        schema: responseShape,
        type: 'text/event-stream',
      },
    },
    handle: async (call) => (await import('../../responses/respond.ts')).createResponse(call),
  }),
  route({
    method: 'get',
    path: '/v1/responses',
    id: 'listResponses',
    scope: 'chat',
    tag: 'OpenAI',
    summary: 'Send requests over a WebSocket, as messages `response.create`',
    responses: { 101: { description: 'The connection. Events are its messages' } },
    handle: async (call) => {
      if (call.web.req.header('upgrade')?.toLowerCase() !== 'websocket')
        throw invalid('Send POST, or open a WebSocket.', 'Upgrade')
      const { serveResponseSocket } = await import('../../responses/socket.ts')
      return serveResponseSocket(call)
    },
  }),
]
