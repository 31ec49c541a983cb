/** Goes back to the earlier page. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { browserTool, runBrowser } from './run-browser.ts'

export default defineTool({
  ...browserTool,
  name: 'browser_back',
  description: 'Go back to the earlier page, with a snapshot.',
  input: z.object({}),
  needs: ['browser'],
  effect: 'effect',
  run: (_input, context) => runBrowser({ kind: 'back' }, context),
})
