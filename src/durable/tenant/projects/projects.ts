/** Reaches the rows of projects (project-rows.ts), whose code is loaded with the first call: many tenants have none. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { TenantPart } from '../tenant-part.ts'
import { type Project, type ProjectMethod, projectBytesName } from './project.ts'
import type { ProjectRows, ProjectRowsOptions } from './project-rows.ts'

export class TenantProjects extends TenantPart {
  readonly #options: ProjectRowsOptions
  #rows: ProjectRows | undefined

  constructor(options: ProjectRowsOptions) {
    super(options.mayChange)
    this.#options = options
  }

  /** Bytes in rows of this object. */
  readonly storedBytes = (): number => this.#options.values.get<number>(projectBytesName) ?? 0

  /** Undefined when the caller is no member. For other parts of the object. */
  readonly find = (authority: Authority, id: string) =>
    this.run(authority, 'find', [id]) as Promise<Project | undefined>

  /** The methods check further scopes. */
  async run(authority: Authority, method: ProjectMethod, given: unknown[]): Promise<unknown> {
    this.requireOwn(authority)
    const { ProjectRows: Rows } = await import('./project-rows.ts')
    this.#rows ??= new Rows(this.#options)
    const call = this.#rows[method] as (...args: readonly unknown[]) => unknown
    return call.call(this.#rows, authority, ...given)
  }
}
