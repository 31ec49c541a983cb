/** Variables and bindings that a test can override, for the worker and for objects created afterwards. */

import type { AiBinding } from '#agent/providers/workers-ai/workers-ai.ts'

export const deployment: {
  auxModel?: string
  /** The `AI` binding. */
  ai?: AiBinding
  /** Event sockets of one object. */
  maxEventSockets?: number
  /** The `BROWSER` binding. */
  browser?: Pick<Fetcher, 'fetch'>
} = {}
