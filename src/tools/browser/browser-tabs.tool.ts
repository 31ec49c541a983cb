/** Opens, lists, changes and closes the pages of the browser. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { assessSecrets } from '../web/assess-secrets.ts'
import { browserTool, runBrowser } from './run-browser.ts'

const input = z.object({
  action: z.enum(['list', 'open', 'switch', 'close']),
  page: z.int().min(1).max(20).optional().describe('Its number in the list.'),
  url: z.string().min(1).max(4_000).optional().describe('For open.'),
})

export default defineTool({
  ...browserTool,
  name: 'browser_tabs',
  description: 'Use up to 5 pages side by side. The other browser tools act on the one that was opened or chosen last.',
  input,
  needs: ['browser'],
  effect: 'effect',
  assess: ({ url }) => assessSecrets(url === undefined ? [] : [url], 'the address'),
  run: ({ action, page, url }, context) => runBrowser({ kind: 'tabs', action, page, url }, context),
})
