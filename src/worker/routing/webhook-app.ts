/**
 * Creates the application of webhooks, which is loaded with the first one. It has few routes, so that an isolate that has
 * just started acknowledges early.
 */

import type { App } from '../route.ts'
import { webhookRoutes } from '../routes/webhooks.ts'
import { createHono } from './create-hono.ts'

export const createWebhookApp = (): App => createHono(webhookRoutes)
