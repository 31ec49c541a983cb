/** Gives files of the workspace to a field of the page. */

import * as z from 'zod'
import { assessReads } from '../assess-paths.ts'
import { defineTool } from '../define-tool.ts'
import { browserTool } from './run-browser.ts'

const input = z.object({
  ref: z.string().min(1).max(50),
  paths: z.array(z.string().min(1)).min(1).max(10).describe('Files of the workspace.'),
})

export default defineTool({
  ...browserTool,
  name: 'browser_upload',
  description:
    'Choose files of the workspace in a file field of the page, 10 MB in all. What the form then does, it does when you submit it.',
  input,
  needs: ['browser', 'backend'],
  effect: 'effect',
  risk: () => 'send',
  assess: async ({ paths }, { backend }) => {
    const { reasons, subjects } = await assessReads(paths, backend)
    return { verdict: 'ask', reasons: [...reasons, `it gives ${paths.join(', ')} to the page`], subjects }
  },
  run: async (given, context) => (await import('./browser-files.ts')).uploadFiles(given, context),
})
