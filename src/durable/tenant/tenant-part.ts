/**
 * Is the base of the parts of a tenant's object. It checks that a call names the tenant of the object that it reached,
 * and has a scope for what it changes. The routes check scopes too: a mistake there cannot change anything here.
 */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority, Scope } from '#agent/core/permission/authority.ts'
import { hasScope } from '#agent/core/permission/authority.ts'
import { log } from '#agent/core/log.ts'
import { ownerTenant } from '#db/schema.ts'

/** `scopes`: one of them is enough; without any, the tenant is. `admin` is the scope of the operator, who acts on all tenants. */
export type ChangeCheck = (authority: Authority, ...scopes: readonly Scope[]) => boolean

/** A refused call is a defect of ours or an attack: it is logged. The caller answers as for an unknown thing. */
export const createChangeCheck =
  (tenantId: string): ChangeCheck =>
  (authority, ...scopes) => {
    const isHeld = (scope: Scope) =>
      hasScope(authority, scope) && authority.tenantId === (scope === 'admin' ? ownerTenant : tenantId)
    const isAllowed = scopes.length ? scopes.some(isHeld) : authority.tenantId === tenantId || isHeld('admin')
    if (isAllowed) return true
    const { tenantId: caller, principal } = authority
    log.error('tenant.refused_call', 'A tenant was called for another one or without the scope.', {
      tenant_id: tenantId,
      request_id: authority.requestId,
      caller,
      principal,
      scopes,
    })
    return false
  }

export abstract class TenantPart extends RpcTarget {
  // Properties of the instance, because callers reach every method of the prototype by RPC.
  protected readonly mayChange: ChangeCheck

  constructor(mayChange: ChangeCheck) {
    super()
    this.mayChange = mayChange
  }

  /** Throws for a call that has no answer for an unknown thing. */
  protected readonly requireOwn = (authority: Authority, ...scopes: readonly Scope[]): void => {
    if (!this.mayChange(authority, ...scopes)) throw new Error('The call is not for this tenant.')
  }
}

/**
 * Is the base of parts whose code is loaded with the first call. `run` reaches the methods of what is loaded, which check
 * further scopes; `callLoaded` calls it.
 */
export class LoadedTenantPart<Loaded extends object, Method extends keyof Loaded> extends TenantPart {
  readonly #load: () => Promise<Loaded>
  #loading: Promise<Loaded> | undefined

  constructor(mayChange: ChangeCheck, load: () => Promise<Loaded>) {
    super(mayChange)
    this.#load = load
  }

  // A property of the instance, because callers reach every method of the prototype by RPC.
  protected readonly loaded = (): Promise<Loaded> =>
    (this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined
      throw error
    }))

  async run(authority: Authority, method: Method, given: unknown[]): Promise<unknown> {
    this.requireOwn(authority)
    const loaded = await this.loaded()
    const call = loaded[method] as (...args: readonly unknown[]) => unknown
    return call.call(loaded, authority, ...given)
  }
}
