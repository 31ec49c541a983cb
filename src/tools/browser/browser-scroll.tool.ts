/** Scrolls the page. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { browserTool, runBrowser } from './run-browser.ts'

const input = z.object({ direction: z.enum(['up', 'down']) })

export default defineTool({
  ...browserTool,
  name: 'browser_scroll',
  description: 'Scroll the page by most of a screen.',
  input,
  needs: ['browser'],
  effect: 'effect',
  run: ({ direction }, context) => runBrowser({ kind: 'scroll', direction }, context),
})
