/** Asks another session of the tenant. Its answer comes later, as a message. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'

export default defineTool({
  name: 'sessions_send',
  toolset: 'sessions',
  description: 'Asks the agent of another session. The answer comes later as a message.',
  input: z.object({ session_id: z.string().min(1).max(200), message: z.string().trim().min(1).max(20_000) }),
  needs: ['subagents'],
  effect: 'keyed',
  touches: () => 'alone',
  run: async ({ session_id: sessionId, message }, { subagents, callId, authority }) => {
    const asked = await subagents.ask({ callId, sessionId, message, authority })
    return typeof asked === 'string' ? fail(asked) : { status: 'sent', question_id: asked.questionId }
  },
})
