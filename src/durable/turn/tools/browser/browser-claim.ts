/** Counts the browsers of a tenant: each session that opens one claims a place, for a time. */

import { systemAuthority } from '#agent/core/permission/authority.ts'
import { BrowserProblem } from '#backends/browser/element.ts'
import { tenantStub } from '#durable/tenant/tenant-stub.ts'
import type { BrowserHost } from './browser-host.ts'

const authorityOf = ({ tenantId, sessionId }: BrowserHost) =>
  systemAuthority(tenantId, { kind: 'session', id: sessionId })

export async function claimBrowser(host: BrowserHost): Promise<void> {
  const { env, tenantId, sessionId } = host
  const { max, isFree } = await tenantStub(env, tenantId).browsers.claim(authorityOf(host), sessionId)
  if (!isFree)
    throw new BrowserProblem(
      `${max} sessions have a browser already, which is the limit here (limits.browsers). Try again later, or use web_extract.`,
    )
}

export const releaseBrowser = async (host: BrowserHost): Promise<void> =>
  tenantStub(host.env, host.tenantId).browsers.release(authorityOf(host), host.sessionId)
