/** Gives tools the web: searches and pages, by the vendors and the guarded fetch of the tenant. */

import type { SideModel } from '#agent/core/tool.ts'
import type { SearchAnswer, WebPort } from '#agent/core/vendor/web.ts'
import type { Documents } from '#agent/core/media/document.ts'
import { foreignMarks } from '#agent/core/marks.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { clock } from '#durable/platform/clock.ts'
import { newNonce } from '#durable/platform/ids.ts'
import { createTenantAddressGuard } from '#durable/tenant/tenant-fetch.ts'
import type { PageReader } from '#backends/web/page/page.ts'
import type { ToolPorts } from './tool-ports.ts'

/** `status`: the server answered with an error. */
type ShownPage =
  | { readonly url: string; readonly html: string }
  | { readonly status: number }
  | { readonly status: number }

/** `showPage`: returns a page as a browser shows it. Undefined: there is none. */
export function createSessionWeb(
  ports: ToolPorts,
  documents: Documents,
  showPage: (url: string, signal: AbortSignal) => Promise<ShownPage | undefined>,
  ask: SideModel['ask'],
): WebPort {
  // Reveals nothing about the session or its tenant.
  const sessionId = newNonce()
  let readPage: PageReader | undefined
  const inFlight = new Map<string, Promise<SearchAnswer>>()
  return {
    async search(query, limit, signal) {
      const { searchWeb } = await import('#backends/web/search/search-web.ts')
      const { tenantId, guardedFetch: send } = ports
      const context = { tenantId, deployment: ports.deployment(), send, sessionId, now: clock.now, inFlight }
      return searchWeb({ query, limit, signal }, context)
    },
    async extract(url, maxChars, signal, question) {
      const { answerFromPage, extractPage, openPageReader } = await import('#backends/web/extract/extract-page.ts')
      const { env, loader, tenantId, guardedFetch: send, backend, fileMarks, runInBackground } = ports
      const reader = (readPage ??= openPageReader(loader, `${tenantId}/${sessionId}`))
      const renderPage = async (address: string, stop: AbortSignal) => {
        const shown = await showPage(address, stop)
        if (shown && 'status' in shown) return shown
        const bytes = new TextEncoder().encode(shown?.html)
        const page = shown && (await reader(bytes, { url: shown.url, charset: 'utf-8' }, stop))
        return page && 'markdown' in page ? { url: shown.url, title: page.title, content: page.markdown } : undefined
      }
      return extractPage(
        { url, maxChars, signal },
        {
          deployment: ports.deployment(),
          userAgent: userAgentOf(env),
          send,
          checkAddress: createTenantAddressGuard(env, tenantId, runInBackground).check,
          readPage: reader,
          documents,
          schedule: clock.schedule,
          ...(question !== undefined && { answer: (text: string) => answerFromPage({ url, question, text }, ask) }),
          renderPage,
          store: async (text) => {
            const path = `/tmp/results/web-${hash53(`${url} ${text}`).toString(36)}.md`
            fileMarks.set(path, foreignMarks)
            await backend.files.write(path, new TextEncoder().encode(text))
            return path
          },
        },
      )
    },
  }
}

/** Names the agent, and the address of the deployment as a contact. */
const userAgentOf = ({ PUBLIC_URL: contact }: Env): string => `Talaria/0.1 (agent${contact ? `; +${contact}` : ''})`
