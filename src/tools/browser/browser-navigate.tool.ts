/** Opens an address in the browser of the session. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { assessSecrets } from '../web/assess-secrets.ts'
import { browserTool, runBrowser } from './run-browser.ts'

/** The load of a first page, and of starting the browser. */
const navigateTimeoutMs = 270_000

const input = z.object({ url: z.string().min(1).max(4_000) })

export default defineTool({
  ...browserTool,
  name: 'browser_navigate',
  description:
    'Open a web address in the browser of this session, and get a compact snapshot of the page with references such as e12 for the other browser tools. For reading alone, web_extract is cheaper.',
  input,
  needs: ['browser'],
  effect: 'pure',
  assess: ({ url }) => assessSecrets([url], 'the address'),
  timeoutMs: () => navigateTimeoutMs,
  run: ({ url }, context) => runBrowser({ kind: 'navigate', url }, context),
})
