/** Presses a key in the page. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { browserTool, runBrowser } from './run-browser.ts'

const input = z.object({ key: z.string().min(1).max(50) })

export default defineTool({
  ...browserTool,
  name: 'browser_press',
  description: 'Press a key: Enter, Tab, Escape, ArrowDown, Control+A, x.',
  input,
  needs: ['browser'],
  effect: 'effect',
  run: ({ key }, context) => runBrowser({ kind: 'press', key }, context),
})
