/** Shows the page of the browser as its accessibility tree. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { browserTool, runBrowser } from './run-browser.ts'

const input = z.object({ full: z.boolean().default(false).describe('With all texts and addresses of links.') })

export default defineTool({
  ...browserTool,
  name: 'browser_snapshot',
  description: 'See the page: its accessibility tree with references. Needed again after the page changed.',
  input,
  needs: ['browser'],
  effect: 'pure',
  run: ({ full }, context) => runBrowser({ kind: 'snapshot', isFull: full }, context),
})
