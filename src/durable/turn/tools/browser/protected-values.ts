/**
 * Opens the vault of a tenant for its browsers, and the texts that a person has typed into one. Whatever is opened here
 * is remembered by the redactor of the tenant, so that no result, file or log shows it.
 */

import type { BrowserAction } from '#agent/core/browser/browser.ts'
import type { OpenBrowser } from '#agent/core/browser/browser-state.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { log } from '#agent/core/log.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { BrowserProblem } from '#backends/browser/element.ts'
import type { OpenField } from '#backends/browser/perform.ts'
import { createTotp } from '#backends/browser/totp.ts'
import { clock } from '#durable/platform/clock.ts'
import { explainMissingKey } from '#durable/platform/master-key.ts'
import { redactorFor, rememberSecrets } from '#durable/platform/redaction.ts'
import { seal, unseal, unsealAll } from '#durable/platform/seal.ts'
import { type VaultEntry, vaultOf, vaultOwner } from '#durable/tenant/vault/vault-entry.ts'
import type { BrowserHost } from './browser-host.ts'

type OpenedEntry = VaultEntry & { readonly values: Readonly<Record<string, string>> }

const freshMs = 30_000
const opened = new BoundedMap<string, { readonly at: number; readonly entries: readonly OpenedEntry[] }>(1_000)

export const browserAuthority = ({ tenantId, sessionId }: Pick<BrowserHost, 'tenantId' | 'sessionId'>) =>
  systemAuthority(tenantId, { kind: 'session', id: sessionId })

/** `isFresh`: asks again, because a person may have changed the entry. */
async function openVault(host: BrowserHost, isFresh = false): Promise<readonly OpenedEntry[]> {
  const { env, tenantId } = host
  const known = opened.get(tenantId)
  if (known && !isFresh && clock.now() - known.at < freshMs) return known.entries
  const list = await vaultOf(env, tenantId).list(browserAuthority(host))
  const ownerOf = ({ name }: VaultEntry) => vaultOwner(tenantId, name)
  const readable = await unsealAll(env, list, ownerOf, ({ name }, reason) =>
    log.warn('vault.unusable', `The entry ${name} of the vault cannot be used.`, { reason, tenant_id: tenantId }),
  )
  const entries = readable.map(([entry, json]) => ({ ...entry, values: JSON.parse(json) as OpenedEntry['values'] }))
  // Values that were replaced meanwhile may still stand in pages.
  const values = new Set([...entries, ...(known?.entries ?? [])].flatMap((entry) => Object.values(entry.values)))
  rememberSecrets(tenantId, 'vault', [...values])
  opened.set(tenantId, { at: clock.now(), entries })
  return entries
}

export const passwordField = /passw|^pin$|^secret$/i
export const totpField = /^(?:totp|otp)$/i

/** Codes are too short for the redactor: their fields are masked, and exactly they are in what a browser answers. */
const codes = new BoundedMap<string, readonly string[]>(1_000)
const maxCodes = 20

function rememberShort({ tenantId, sessionId }: BrowserHost, values: readonly string[]): void {
  const key = `${tenantId}/${sessionId}`
  const short = values.filter(({ length }) => length >= 4 && length < 8)
  if (short.length) codes.set(key, [...new Set([...(codes.get(key) ?? []), ...short])].slice(-maxCodes))
}

export const openField =
  (host: BrowserHost): OpenField =>
  async ({ entry: name, origin }, field) => {
    const entry = await findEntry(host, name)
    if (!entry.origins.includes(origin))
      throw new BrowserProblem(
        `Nothing was filled in: "${name}" is stored for ${entry.origins.join(', ')} and not for ${origin.slice(0, 200)}. Tell the user.`,
      )
    const stored = entry.values[field]
    if (stored === undefined)
      throw new BrowserProblem(`"${name}" has no field "${field}". Its fields: ${entry.fields.join(', ')}.`)
    const value = totpField.test(field) ? await createTotp(stored, clock.now()) : stored
    rememberShort(host, [value])
    // Pages around the field may have other origins of the entry, but the page in front is the one that was asked for.
    return { value, isPassword: passwordField.test(field), allowed: [origin] }
  }

async function findEntry(host: BrowserHost, name: string): Promise<OpenedEntry> {
  const entries = await openVault(host, true)
  const found = entries.find((one) => one.name === name)
  if (found) return found
  throw new BrowserProblem(`The vault has no entry "${name.slice(0, 100)}". browser_fill without an entry lists them.`)
}

/** The part of the vault that the model may know. */
export const describeVault = async (host: BrowserHost): Promise<Readonly<Record<string, unknown>>> => ({
  entries: (await openVault(host, true)).map(({ name, fields, origins, unasked }) => ({
    name,
    fields,
    origins,
    unasked,
  })),
})

const typedOwner = ({ tenantId, sessionId }: BrowserHost) => ({
  tenant: tenantId,
  kind: 'browser',
  id: `${sessionId} typed`,
})
const typedSource = ({ sessionId }: BrowserHost): string => `browser ${sessionId}`
const typedTexts = new BoundedMap<string, readonly string[]>(1_000)
const maxTyped = 100

async function readTyped(host: BrowserHost, { typed }: Pick<OpenBrowser, 'typed'>): Promise<readonly string[]> {
  if (typed === undefined) return []
  const known = typedTexts.get(typed)
  if (known) return known
  const read = await unseal(host.env, typed, typedOwner(host))
  const texts = read.kind === 'opened' ? (JSON.parse(read.secret) as readonly string[]) : []
  typedTexts.set(typed, texts)
  return texts
}

/** Returns the part of the state that keeps what a person types from the model, also after an eviction. */
export async function protectTyped(
  host: BrowserHost,
  state: OpenBrowser,
  action: BrowserAction,
): Promise<Partial<OpenBrowser>> {
  if (action.kind !== 'input' || action.input.type !== 'text') return {}
  const texts = [...new Set([...(await readTyped(host, state)), action.input.text])].slice(-maxTyped)
  remember(host, texts)
  if (explainMissingKey(host.env) !== undefined) return { isGuarded: true }
  const typed = await seal(host.env, JSON.stringify(texts), typedOwner(host))
  typedTexts.set(typed, texts)
  return { isGuarded: true, typed }
}

function remember(host: BrowserHost, texts: readonly string[]): void {
  rememberSecrets(host.tenantId, typedSource(host), texts)
  rememberShort(host, texts)
}

/** A browser that is closed shows nothing any more. */
export function forgetTyped(host: BrowserHost): void {
  rememberSecrets(host.tenantId, typedSource(host), [])
  codes.delete(`${host.tenantId}/${host.sessionId}`)
}

/** Returns what masks the protected values; undefined when there are none. */
export async function openMask(
  host: BrowserHost,
  state: Pick<OpenBrowser, 'typed' | 'isGuarded'>,
): Promise<((text: string) => string) | undefined> {
  const [entries, typed] = await Promise.all([openVault(host), readTyped(host, state)])
  if (typed.length) remember(host, typed)
  if (!entries.length && !typed.length && !state.isGuarded) return undefined
  // Read at each use: a call may open further values.
  return (text) => {
    const short = codes.get(`${host.tenantId}/${host.sessionId}`) ?? []
    const masked = redactorFor(host.env, host.tenantId).redactExact(text)
    return short.reduce((rest, value) => rest.replaceAll(value, '***'), masked)
  }
}
