/** Serves A2A: the card of the agent, and its tasks by JSON-RPC and by HTTP with JSON. */

import * as z from 'zod'
import { authenticate } from '../../auth.ts'
import { AppError, renderError } from '../../errors.ts'
import { readText } from '../../input/body.ts'
import { isForeignPage } from '../../login/same-origin.ts'
import type { ApiRoute, OpenRoute, RequestContext } from '../../route.ts'
import { ok } from '../../shapes.ts'
import { publicOrigin } from '../mcp-oauth.ts'

const tag = 'Other agents'
const cardPath = '/.well-known/agent-card.json'
const sse = 'text/event-stream'
const params = { id: { description: 'The id of the task: the run.', example: 'run_0123456789abcdef' } }
const message = {
  messageId: 'message-1',
  role: 'ROLE_USER',
  parts: [{ text: 'Say hello.' }],
}
const taskShape = z.looseObject({})
const sending = z.looseObject({ message: z.looseObject({}) })

const createCardRoute = (): OpenRoute => ({
  method: 'get',
  path: cardPath,
  id: 'getAgentCard',
  scope: null,
  tag,
  summary: 'The card of the agent, for other agents (A2A)',
  responses: ok('The card', z.looseObject({})),
  mount: (app) => void app.get(cardPath, (web) => Response.json(createCard(publicOrigin(web.env, web.req.url)))),
})

/** `list`: the routes of the API, which exist after this. */
export function createA2aRoutes(list: () => readonly ApiRoute[]): readonly OpenRoute[] {
  const define: Define = (definition) => ({
    ...definition,
    scope: null,
    tag,
    mount: (app) =>
      void app.on(definition.method.toUpperCase(), definition.path, (web) =>
        serve(web, list, definition.path === '/a2a'),
      ),
  })
  return [
    createCardRoute(),
    define({
      method: 'post',
      path: '/a2a',
      id: 'sendA2aMessage',
      summary: 'A2A: one JSON-RPC message of another agent',
      description: 'Needs a key in `Authorization` with the scopes `chat` and `read`. Versions 1.0 and 0.3.',
      example: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } },
      body: z.looseObject({ jsonrpc: z.literal('2.0') }),
      responses: { 200: { description: 'The answer, or events', schema: taskShape, type: sse } },
    }),
    define({
      method: 'post',
      path: '/a2a/v1/:action',
      params: {
        action: {
          description: '`message:send` waits for the task, `message:stream` streams it.',
          example: 'message:send',
        },
      },
      id: 'sendTaskMessage',
      summary: 'A2A: send a message as HTTP with JSON',
      example: { message },
      body: sending,
      responses: { 200: { description: 'The task, or events', schema: taskShape, type: sse } },
    }),
    ...createTaskRoutes(define),
  ]
}

type Define = (definition: Omit<OpenRoute, 'scope' | 'tag' | 'mount'>) => OpenRoute

const createTaskRoutes = (define: Define): readonly OpenRoute[] => [
  define({
    method: 'get',
    path: '/a2a/v1/tasks',
    id: 'listTasks',
    summary: 'A2A: tasks, newest first; `contextId`, `status`, `pageSize`, `pageToken`',
    responses: ok('A page of tasks', taskShape),
  }),
  define({
    method: 'get',
    path: '/a2a/v1/tasks/:id',
    params,
    id: 'getTask',
    summary: 'A2A: one task; `ID:subscribe` streams it',
    responses: { 200: { description: 'The task, or events', schema: taskShape, type: sse } },
  }),
  define({
    method: 'post',
    path: '/a2a/v1/tasks/:id',
    params,
    id: 'updateTask',
    summary: 'A2A: `ID:cancel` stops a task',
    body: z.looseObject({}),
    responses: ok('The task', taskShape),
  }),
]

async function serve(web: RequestContext, list: () => readonly ApiRoute[], isRpc: boolean): Promise<Response> {
  if (isForeignPage(web.req.raw, web.env.PUBLIC_URL))
    throw new AppError(403, 'policy', 'Pages of other origins may not use this server.', { param: 'Origin' })
  try {
    // A cookie would let pages of others act: browsers send it by themselves.
    if (web.req.header('authorization') === undefined)
      throw new AppError(401, 'invalid_api_key', 'Send a key in the header: Authorization: Bearer KEY.')
    const known = await authenticate(web.req.raw, web.env, (work) => web.executionCtx.waitUntil(work))
    const identity = { ...known, requestId: web.get('requestId') }
    const text = web.req.method === 'POST' ? await readText(web.req.raw) : ''
    const { serveA2a } = await import('./serve.ts')
    return await serveA2a({ web, identity, routes: list(), text, isRpc })
  } catch (error) {
    if (!(error instanceof AppError) || error.status !== 401) throw error
    const response = renderError(error)
    response.headers.set('www-authenticate', 'Bearer')
    return response
  }
}

/** Fields of both versions. */
const createCard = (origin: string) => ({
  name: 'Talaria',
  description: 'An agent with its own tools, memory, files and scheduled jobs.',
  version: '0.1.0',
  protocolVersion: '0.3.0',
  url: `${origin}/a2a`,
  preferredTransport: 'JSONRPC',
  supportedInterfaces: [
    { url: `${origin}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    { url: `${origin}/a2a/v1`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    { url: `${origin}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
  ],
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
  securitySchemes: { key: { httpAuthSecurityScheme: { scheme: 'Bearer' }, type: 'http', scheme: 'bearer' } },
  securityRequirements: [{ schemes: { key: { list: [] } } }],
  security: [{ key: [] }],
  defaultInputModes: ['text/plain', 'application/json'],
  defaultOutputModes: ['text/plain'],
  skills: [
    {
      id: 'tasks',
      name: 'Tasks',
      description: 'Works on a task with its tools until it is done, and asks when something is unclear.',
      tags: ['agent', 'assistant'],
      examples: ['Summarise report.md in three sentences.'],
    },
  ],
})
