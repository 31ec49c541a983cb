/** Passes an action of a browser tool to the browser of the session, and its answer to the model. */

import type { BrowserAction } from '#agent/core/browser/browser.ts'
import type { Risk } from '#agent/core/permission/approval.ts'
import type { CallContext, Services } from '#agent/core/tool.ts'
import { getBrowserAvailability } from '#agent/policy/resolve-browser.ts'
import { fail, type ToolAnswer } from '../tool-result.ts'

export type BrowserContext = CallContext & Pick<Services, 'browser'>

/** All tools of the browser have these in common. One page: its calls never run concurrently. */
export const browserTool = {
  toolset: 'browser',
  availability: getBrowserAvailability,
  risk: (): Risk => 'net',
  touches: () => ['browser:'],
} as const

export async function runBrowser(action: BrowserAction, { browser, ...call }: BrowserContext): Promise<ToolAnswer> {
  const answer = await browser.act(action, call)
  return answer.kind === 'done' ? answer.value : fail(answer.error, { success: false, ...answer.details })
}
