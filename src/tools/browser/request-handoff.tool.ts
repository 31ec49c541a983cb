/** Gives the browser to a person for a login, a code or a payment. The call waits until they give it back. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { browserTool } from './run-browser.ts'

const input = z.object({ reason: z.string().min(1).max(500).describe('What the person should do there.') })

export default defineTool({
  ...browserTool,
  name: 'request_handoff',
  description:
    'Give the browser to the user for what only they can or should do: a login that is not in the vault, a code, a payment, a check for robots. Waits until they are done; what they type stays hidden.',
  input,
  needs: ['browser', 'person'],
  effect: 'effect',
  touches: () => 'alone',
  timeoutMs: () => Number.POSITIVE_INFINITY,
  run: async ({ reason }, context) => (await import('./ask-person.ts')).handOver(reason, context),
})
