/** Opens the vendor of a browser with what the deployment and the tenant have. */

import type { BrowserBackend, BrowserCall } from '#agent/core/browser/browser.ts'
import type { OpenBrowser } from '#agent/core/browser/browser-state.ts'
import { cdpVariable, resolveBrowser } from '#agent/policy/resolve-browser.ts'
import { CdpError } from '#backends/browser/cdp.ts'
import { BrowserProblem } from '#backends/browser/element.ts'
import type { NetworkGuard } from '#backends/browser/request-guard.ts'
import {
  acceptSocket,
  type AcquiredBrowser,
  type BrowserVendor,
  type BrowserWires,
  openBinding,
  openBrowserbase,
  openEndpoint,
  openSteel,
  type BrowserVendorOptions,
} from '#backends/browser/vendors.ts'
import { clock } from '#durable/platform/clock.ts'
import { seal, unseal } from '#durable/platform/seal.ts'
import { createTenantAddressGuard } from '#durable/tenant/tenant-fetch.ts'
import { type BrowserHost, getKeepAliveMs } from './browser-host.ts'

const requestTimeoutMs = 30_000

/** The addresses of the endpoint and of sockets come from the deployment, or were judged before. */
const wires: BrowserWires = {
  schedule: clock.schedule,
  openSocket: async (url) =>
    acceptSocket(
      await fetch(url.replace(/^ws/, 'http'), {
        headers: { upgrade: 'websocket' },
        redirect: 'manual',
        signal: AbortSignal.timeout(requestTimeoutMs),
      }),
    ),
  fetch: (url, init) => fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(requestTimeoutMs) }),
}

/** `backend`: of a browser that runs. Without it: of a new one. */
export function openVendor(host: BrowserHost, backend?: BrowserBackend): BrowserVendor {
  const deployment = host.deployment()
  const kind = backend ?? resolveBrowser(deployment)
  switch (kind) {
    case undefined:
      throw new BrowserProblem('There is no browser in this deployment.')
    case 'binding': {
      if (!host.env.BROWSER) throw new CdpError('gone', 'The binding BROWSER is gone.')
      return openBinding(host.env.BROWSER, getKeepAliveMs(host), wires)
    }
    case 'cdp': {
      const url = deployment.variable(cdpVariable)
      if (!url) throw new CdpError('gone', `${cdpVariable} is gone.`)
      return openEndpoint({ url, reachesPrivate: deployment.variable('BROWSER_CDP_GUARDED') !== 'true' }, wires)
    }
    case 'browserbase':
      return openBrowserbase(vendorOptions(host, kind), deployment.variable('BROWSERBASE_PROJECT_ID'), wires)
    case 'steel':
      return openSteel(vendorOptions(host, kind), wires)
  }
}

function vendorOptions(
  { deployment, guardedFetch, ...host }: BrowserHost,
  id: 'browserbase' | 'steel',
): BrowserVendorOptions {
  const { baseUrl, keys, isReplaced } = deployment().vendor(id)
  const { check } = createTenantAddressGuard(host.env, host.tenantId, host.runInBackground)
  return {
    baseUrl,
    key: keys[0] ?? '',
    ask: async (url, { method = 'GET', headers, body }) =>
      (
        await guardedFetch({
          url,
          method,
          ...(headers && { headers }),
          body,
          isTrusted: true,
          timeoutMs: requestTimeoutMs,
        })
      ).response,
    requireAllowed: async (url) => {
      const reason = isReplaced ? undefined : await check(url)
      if (reason !== undefined)
        throw new BrowserProblem(`The vendor named an address that may not be called: ${reason}.`)
    },
  }
}

/** Judges the requests of the page by the guard of the tenant. */
export function createNetwork(host: BrowserHost, { signal }: BrowserCall): NetworkGuard {
  const { check, mappedHosts } = createTenantAddressGuard(host.env, host.tenantId, host.runInBackground)
  return {
    check,
    mappedHosts,
    fetch: async (request) => (await host.guardedFetch({ ...request, signal, timeoutMs: requestTimeoutMs })).response,
  }
}

const ownerOf = ({ tenantId: tenant, sessionId: id }: BrowserHost) => ({ tenant, kind: 'browser', id })

export const sealUrl = (host: BrowserHost, url: string): Promise<string> => seal(host.env, url, ownerOf(host))

export async function toAcquired(
  host: BrowserHost,
  { sessionId, sealedUrl }: Pick<OpenBrowser, 'sessionId' | 'sealedUrl'>,
): Promise<AcquiredBrowser> {
  if (sealedUrl === undefined) return { sessionId }
  const opened = await unseal(host.env, sealedUrl, ownerOf(host))
  if (opened.kind !== 'opened') throw new CdpError('gone', opened.reason)
  return { sessionId, url: opened.secret }
}
