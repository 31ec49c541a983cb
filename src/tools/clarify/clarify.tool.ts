import * as z from 'zod'
import { defineTool } from '../define-tool.ts'

const MAX_CHOICES = 4

const input = z.object({
  question: z.string().min(1),
  choices: z.array(z.string().min(1)).max(MAX_CHOICES).optional().describe('The first is the one you recommend.'),
  multi_select: z.boolean().default(false),
})

/** Asking has no effect of its own; the answer comes when it comes, and the call waits for it. */
export default defineTool({
  name: 'clarify',
  toolset: 'clarify',
  description:
    'Ask the user when you cannot go on well without a decision that is theirs. They can always answer in their own words.',
  input,
  needs: ['person'],
  effect: 'pure',
  touches: () => 'alone',
  run: async ({ question, choices = [], multi_select }) => ({
    later: { kind: 'question', question, choices, multiSelect: multi_select },
  }),
})
