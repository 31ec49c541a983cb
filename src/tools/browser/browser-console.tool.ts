/** Shows the console of the page, or evaluates an expression where that is allowed. */

import * as z from 'zod'
import { assessByRisk } from '#agent/policy/approval/approval.ts'
import type { Assessment } from '#agent/core/permission/approval.ts'
import { defineTool } from '../define-tool.ts'
import { browserTool, runBrowser } from './run-browser.ts'

const input = z.object({
  clear: z.boolean().default(false).describe('Empties it afterwards.'),
  network: z.boolean().default(false).describe('Lists the last requests instead, with status, time and size.'),
  expression: z.string().max(20_000).optional().describe('JavaScript to evaluate in the page; mostly switched off.'),
})

/** Code acts with the logins of the page. */
const assessExpression = (expression: string): Assessment => ({
  verdict: 'ask',
  reasons: ['it runs code in the page, with the logins of the page'],
  subjects: [expression],
})

export default defineTool({
  ...browserTool,
  name: 'browser_console',
  description: 'See the last messages and errors of the console of the page, or its requests.',
  input,
  needs: ['browser'],
  effect: 'effect',
  risk: ({ expression }) => (expression === undefined ? 'net' : 'exec'),
  // A switched-off expression needs nobody's approval.
  assess: ({ expression }, { browser }) =>
    expression && browser.mayEvaluate() ? assessExpression(expression) : assessByRisk('net', []),
  run: ({ clear, expression, network }, context) =>
    runBrowser(
      network ? { kind: 'requests' } : { kind: 'console', isCleared: clear, expression: expression || undefined },
      context,
    ),
})
