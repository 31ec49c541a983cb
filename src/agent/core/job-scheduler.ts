/** Defines the port through which a tool manages the jobs of a tenant. */

import type { Authority } from './permission/authority.ts'

/** A job as the API shows it. */
export type ShownJob = Readonly<Record<string, unknown>> & { readonly id: string; readonly name: string }

export type JobAnswer =
  | { readonly kind: 'done'; readonly job: ShownJob }
  /** The run is in progress from now on. */
  | { readonly kind: 'started'; readonly job: ShownJob; readonly run: Readonly<Record<string, unknown>> }
  | { readonly kind: 'refused'; readonly error: string }

/** `reference`: the id or the name of a job. `key`: a repeated call with the same key makes one job or run. */
export type JobScheduler = {
  readonly create: (authority: Authority, fields: object, key: string) => Promise<JobAnswer>
  readonly update: (authority: Authority, reference: string, fields: object) => Promise<JobAnswer>
  readonly change: (authority: Authority, reference: string, to: 'pause' | 'resume') => Promise<JobAnswer>
  readonly run: (authority: Authority, reference: string, key: string) => Promise<JobAnswer>
  readonly remove: (authority: Authority, reference: string) => Promise<boolean>
  readonly list: (authority: Authority) => Promise<{ readonly jobs: readonly ShownJob[]; readonly hasMore: boolean }>
}
