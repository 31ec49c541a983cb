/** Keeps the cookies of a browser in a profile of the tenant, so that its logins outlast the browser. */

import type { OpenBrowser } from '#agent/core/browser/browser-state.ts'
import { log } from '#agent/core/log.ts'
import type { AcquiredBrowser, BrowserVendor } from '#backends/browser/vendors.ts'
import { clock } from '#durable/platform/clock.ts'
import { explainMissingKey } from '#durable/platform/master-key.ts'
import { unseal } from '#durable/platform/seal.ts'
import { sealForTenant } from '#durable/tenant/secrets/tenant-seal.ts'
import { maxProfileChars, profileOwner, vaultOf } from '#durable/tenant/vault/vault-entry.ts'
import type { BrowserHost } from './browser-host.ts'
import { browserAuthority } from './protected-values.ts'

/** The fields of a cookie that Chrome gives and takes back. */
type Cookie = Readonly<Record<string, unknown>> & { readonly expires?: number; readonly session?: boolean }

const taken = ['name', 'value', 'domain', 'path', 'expires', 'httpOnly', 'secure', 'sameSite', 'partitionKey'] as const

/** A profile that cannot be opened is as good as none: the browser begins empty. */
export async function loadProfile(
  host: BrowserHost,
  vendor: BrowserVendor,
  browser: AcquiredBrowser,
  name: string,
): Promise<void> {
  const stored = await vaultOf(host.env, host.tenantId).profile(browserAuthority(host), name)
  if (!stored) return
  const opened = await unseal(host.env, stored.sealed, profileOwner(host.tenantId, name))
  if (opened.kind !== 'opened')
    return log.warn('browser.profile_unreadable', 'A profile of the browser cannot be opened.', {
      reason: opened.reason,
    })
  const cookies = JSON.parse(opened.secret) as readonly Cookie[]
  const connection = await vendor.connect(browser)
  try {
    await connection.send('Storage.setCookies', { cookies, ...contextOf(vendor, browser) })
  } finally {
    connection.close()
  }
}

/** A failure is logged: the browser is closed all the same. */
export async function saveProfile(
  host: BrowserHost,
  vendor: BrowserVendor,
  browser: AcquiredBrowser,
  { profile: name }: Pick<OpenBrowser, 'profile'>,
): Promise<void> {
  if (name === undefined || explainMissingKey(host.env) !== undefined) return
  try {
    const connection = await vendor.connect(browser)
    const { cookies } = await connection
      .send<{ cookies: readonly Cookie[] }>('Storage.getCookies', contextOf(vendor, browser))
      .finally(() => connection.close())
    const text = JSON.stringify(cookies.map(toSettable))
    if (text.length > maxProfileChars)
      return log.warn('browser.profile_unsaved', 'A profile of the browser is too large to be kept.', {
        chars: text.length,
      })
    const sealed = await sealForTenant(host.env, text, profileOwner(host.tenantId, name))
    const profile = { name, savedAt: clock.now(), sealed }
    if (!(await vaultOf(host.env, host.tenantId).putProfile(browserAuthority(host), profile)))
      log.warn('browser.profile_unsaved', 'There are already as many browser profiles as a tenant may have.', {})
  } catch (error) {
    log.warn('browser.profile_unsaved', 'A profile of the browser could not be kept.', { error })
  }
}

const contextOf = (vendor: BrowserVendor, browser: AcquiredBrowser) => {
  const browserContextId = vendor.contextOf(browser)
  return browserContextId === undefined ? {} : { browserContextId }
}

/** A cookie of a session has no end. */
const toSettable = (cookie: Cookie): Cookie =>
  Object.fromEntries(
    taken.flatMap((name) =>
      cookie[name] === undefined || (name === 'expires' && cookie.session) ? [] : [[name, cookie[name]] as const],
    ),
  )
