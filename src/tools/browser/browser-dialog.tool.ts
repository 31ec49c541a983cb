/** Chooses how the next dialog of the page is answered. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { browserTool, runBrowser } from './run-browser.ts'

const input = z.object({
  action: z.enum(['accept', 'dismiss']),
  prompt_text: z.string().max(2_000).optional().describe('The answer to a prompt.'),
})

export default defineTool({
  ...browserTool,
  name: 'browser_dialog',
  description:
    'Choose the answer to the next confirm or prompt of the page, before the click that opens it. Without it they are dismissed.',
  input,
  needs: ['browser'],
  effect: 'pure',
  run: ({ action, prompt_text: text }, context) =>
    runBrowser({ kind: 'dialog', isAccepted: action === 'accept', text }, context),
})
