/**
 * The routes that begin or lead a conversation. They are loaded with the worker; all others (app.ts) when the first request
 * for one of them arrives.
 */

import { createHono } from './create-hono.ts'
import { compileRoute } from './known-route.ts'
import { livenessRoutes } from '../routes/liveness.ts'
import { sessionChatRoutes } from '../routes/session-chat.ts'
import { chatRoutes } from '../routes/v1/chat-completions.ts'
import { responseRoutes } from '../routes/v1/responses.ts'

const routes = [...livenessRoutes, ...chatRoutes, ...responseRoutes, ...sessionChatRoutes]
const known = routes.map(compileRoute)

export const createFirstApp = () => createHono(routes)

export const isFirstRoute = ({ method: called }: Request, path: string): boolean =>
  known.some(({ method, pattern }) => method === called && pattern.test(path))

/** Whether a platform or a generic webhook delivers an event (routes/webhooks.ts, also with a secret behind the address). */
export const isWebhook = ({ method }: Request, path: string): boolean =>
  method === 'POST' && /^\/(?:webhooks\/[^/]+\/[^/]+(?:\/[^/]+)?|_matrix\/push\/v1\/notify)$/.test(path)
