/** Chooses the browser of a session from what the deployment and its tenant have. */

import { type BrowserBackend, browserBackends } from '#agent/core/browser/browser.ts'
import type { Availability, ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'

export const cdpVariable = 'BROWSER_CDP_URL'

const missing: Readonly<Record<BrowserBackend, (deployment: ToolDeployment) => string | undefined>> = {
  cdp: ({ variable }) => (variable(cdpVariable) ? undefined : `Set ${cdpVariable}.`),
  binding: ({ hasBinding }) => (hasBinding('BROWSER') ? undefined : 'The deployment has no binding BROWSER.'),
  browserbase: ({ vendor }) => (vendor('browserbase').keys.length ? undefined : 'Set BROWSERBASE_API_KEY.'),
  steel: ({ vendor }) => (vendor('steel').keys.length ? undefined : 'Set STEEL_API_KEY.'),
}

/** Browsers of the deployment itself come before those paid by the minute. */
const preferred: readonly BrowserBackend[] = ['cdp', 'binding', 'browserbase', 'steel']

export function resolveBrowser(deployment: ToolDeployment): BrowserBackend | undefined {
  const { backend } = deployment.settings.browser ?? {}
  const wanted = backend ? [backend] : preferred
  return wanted.find((each) => missing[each](deployment) === undefined)
}

const nothing = `There is no browser. Bind BROWSER, set ${cdpVariable}, or store a key of browserbase or steel; npm start uses the Chromium of the system, which CHROME_PATH can name.`

export function getBrowserAvailability(deployment: ToolDeployment): Availability {
  const found = resolveBrowser(deployment)
  if (found !== undefined) return { by: found === 'binding' ? 'browser' : found }
  const { backend } = deployment.settings.browser ?? {}
  return { reason: (backend && browserBackends.includes(backend) && missing[backend](deployment)) || nothing }
}
