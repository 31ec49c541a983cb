/** Reaches the rows of projects (project-rows.ts): many tenants have none. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { LoadedTenantPart } from '../tenant-part.ts'
import { type Project, type ProjectMethod, projectBytesName } from './project.ts'
import type { ProjectRows, ProjectRowsOptions } from './project-rows.ts'

export class TenantProjects extends LoadedTenantPart<ProjectRows, ProjectMethod> {
  readonly #values: ProjectRowsOptions['values']

  constructor(options: ProjectRowsOptions) {
    super(options.mayChange, async () => new (await import('./project-rows.ts')).ProjectRows(options))
    this.#values = options.values
  }

  /** Bytes in rows of this object. */
  readonly storedBytes = (): number => this.#values.get<number>(projectBytesName) ?? 0

  /** Undefined when the caller is no member. For other parts of the object. */
  readonly find = (authority: Authority, id: string) =>
    this.run(authority, 'find', [id]) as Promise<Project | undefined>
}
