/** Asks the user a question. The call waits as a pending request until the answer arrives. */

import * as z from 'zod'
import { defineTool } from './define-tool.ts'

const maxChoices = 6

const input = z.object({
  question: z.string().min(1),
  choices: z.array(z.string().min(1)).max(maxChoices).optional().describe('The first is the one you recommend.'),
  multi_select: z.boolean().default(false),
})

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
