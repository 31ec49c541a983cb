/** Sends requests of tests to the HTTP API and checks every response against the OpenAPI document. */

import { applyD1Migrations, type D1Migration, SELF } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expectDocumented } from './described.ts'

export const bindings = env as unknown as Env & { readonly MIGRATIONS: D1Migration[] }
export const applyMigrations = () => applyD1Migrations(bindings.DB, bindings.MIGRATIONS)

export const adminKey = 'test-admin-key-0123456789'
const origin = 'https://talaria.test'

export type RequestOptions = {
  /** null sends no key. */
  readonly key?: string | null
  /** Text, bytes and streams are sent unchanged, other values as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export function request(method: string, path: string, { key = adminKey, body, headers = {} }: RequestOptions = {}) {
  const raw = typeof body === 'string' || body instanceof Uint8Array || body instanceof ReadableStream
  return SELF.fetch(`${origin}${path}`, {
    method,
    // Without one each response has a new id, and no two are equal.
    headers: { 'x-request-id': 'test', ...(key !== null && { authorization: `Bearer ${key}` }), ...headers },
    ...(body !== undefined && { body: raw ? (body as BodyInit) : JSON.stringify(body) }),
  })
}

export type Answer<T> = { readonly status: number; readonly headers: Headers; readonly body: T }

/** Sends a request and parses the JSON of the response. `body` is null when it is empty. */
export async function call<T = Record<string, unknown>>(
  method: string,
  path: string,
  ask: RequestOptions = {},
): Promise<Answer<T>> {
  const response = await request(method, path, ask)
  const text = await response.text()
  expectDocumented(method, new URL(path, origin).pathname, { response, text })
  return { status: response.status, headers: response.headers, body: (text ? JSON.parse(text) : null) as T }
}

export type ErrorBody = { readonly error: { message: string; type: string; code: string; param: string | null } }

let tenants = 0
/** Creates a tenant with a key. Tests of a file share their state, so each should use its own tenant. */
export async function newTenant(scopes = ['chat', 'read', 'write', 'jobs', 'approve', 'admin']) {
  const id = `t${++tenants}`
  await call('POST', '/api/admin/tenants', { body: { id, name: id } })
  return { id, key: await newKey(id, scopes) }
}

/** Assigns mail addresses of the deployment, as the operator does. */
export const assignMail = (tenantId: string, mail: readonly string[] = ['*']) =>
  call('PATCH', `/api/admin/tenants/${tenantId}`, { body: { mail } })

export async function newKey(tenantId: string, scopes: readonly string[], more: object = {}): Promise<string> {
  const { body } = await call<{ key: string }>('POST', '/api/admin/keys', {
    body: { tenant_id: tenantId, scopes, ...more },
  })
  return body.key
}

export type Session = { readonly id: string; readonly settings: object; readonly [more: string]: unknown }

export async function newSession(body: object = {}, key = adminKey): Promise<Session> {
  return (await call<Session>('POST', '/api/sessions', { body, key })).body
}
