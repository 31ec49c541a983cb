/** Clicks an element of the page. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { browserTool, runBrowser } from './run-browser.ts'

const input = z.object({ ref: z.string().min(1).max(50).describe('Of the last snapshot: e12, or f1e3 in a frame.') })

export default defineTool({
  ...browserTool,
  name: 'browser_click',
  description: 'Click an element of the page.',
  input,
  needs: ['browser'],
  effect: 'effect',
  run: ({ ref }, context) => runBrowser({ kind: 'click', ref }, context),
})
