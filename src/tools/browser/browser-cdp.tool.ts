/** Sends a command of the DevTools protocol to the page, with an approval. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { browserTool, runBrowser } from './run-browser.ts'

const input = z.object({
  method: z.string().min(3).max(100).describe('Such as Page.getLayoutMetrics.'),
  params: z.record(z.string(), z.unknown()).default({}),
  frame_id: z.string().max(100).optional().describe('Of a frame with a process of its own. Default: the page.'),
  timeout: z.int().min(1).max(120).default(30).describe('Seconds.'),
})

/** It is in no toolset but its own, so that settings have to enable `browser-cdp`. */
export default defineTool({
  ...browserTool,
  name: 'browser_cdp',
  toolset: 'browser-cdp',
  description:
    'Send a command of the Chrome DevTools protocol to the page: Accessibility, CSS, DOM, Emulation, Input, Performance. For what the other browser tools cannot do.',
  input,
  needs: ['browser'],
  effect: 'effect',
  risk: () => 'exec',
  assess: ({ method, params }) => ({
    verdict: 'ask',
    reasons: ['it commands the browser directly, with the logins of the page'],
    subjects: [`${method} ${JSON.stringify(params).slice(0, 2_000)}`],
  }),
  run: ({ method, params, frame_id: frameId, timeout }, context) =>
    runBrowser(
      { kind: 'cdp', method, params, timeoutMs: timeout * 1_000, ...(frameId !== undefined && { frameId }) },
      context,
    ),
})
