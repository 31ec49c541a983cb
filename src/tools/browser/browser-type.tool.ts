/** Types into a field of the page. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { browserTool, runBrowser } from './run-browser.ts'

const input = z.object({ ref: z.string().min(1).max(50), text: z.string().max(100_000) })

export default defineTool({
  ...browserTool,
  name: 'browser_type',
  description: 'Replace the text of a field, or choose an option of a list by its text. Does not submit: press Enter.',
  input,
  needs: ['browser'],
  effect: 'effect',
  run: ({ ref, text }, context) => runBrowser({ kind: 'type', ref, text }, context),
})
