/** What a test sets of the deployment, for the objects that are made from then on and for the worker. */

import type { AiBinding } from '../../src/agent/providers/workers-ai/workers-ai.ts'

export const deployment: {
  auxModel?: string
  /** The `AI` binding. */
  ai?: AiBinding
} = {}
