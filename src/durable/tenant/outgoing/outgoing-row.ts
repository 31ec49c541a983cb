/** Describes an outgoing webhook and its deliveries, and addresses the part of the tenant's object that stores them. */

import type { Observer } from '#agent/core/hook.ts'
import type { SecretOwner } from '#durable/platform/seal.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { callLoaded, type LoadedCalls } from '../loaded-part.ts'
import type { OutgoingRows } from './outgoing-rows.ts'

export type OutgoingConfig = {
  readonly url: string
  /** Observers, or `*` for all of them. */
  readonly events: readonly (Observer | '*')[]
  /** Patterns of tool names. Events without a tool always match. */
  readonly matcher: string
  /** Also signs as Hermes does. */
  readonly hermes: boolean
}

export type OutgoingSecrets = {
  readonly current: string
  /** Signs too, until then. */
  readonly previous?: { readonly sealed: string; readonly until: number }
}

export type OutgoingHook = {
  readonly id: string
  readonly config: OutgoingConfig
  readonly secrets: OutgoingSecrets
  /** Why it is disabled. Absent: it is active. */
  readonly disabled?: string
  readonly createdAt: number
  readonly updatedAt: number
}

export type DeliveryAttempt = { readonly at: number; readonly status: number | null; readonly error: string | null }

export type Delivery = {
  readonly id: string
  readonly type: string
  readonly status: 'pending' | 'delivered' | 'failed'
  readonly attempts: readonly DeliveryAttempt[]
  readonly nextAt: number | null
  readonly createdAt: number
}

/** An event of a session. `seq` makes a repeated report the same delivery. */
export type OutgoingEvent = {
  readonly seq: number
  readonly at: string
  readonly runId: string
  readonly hook: Observer
  readonly data: Readonly<Record<string, unknown>>
}

export const outgoingOwner = (tenant: string, id: string): SecretOwner => ({ tenant, kind: 'outgoing', id })

/** Stored values: the events that any hook wants, and when the next delivery is due. */
export const wantedName = 'outgoing events'
export const nextName = 'outgoing next'

const methods = [
  'list',
  'find',
  'create',
  'update',
  'remove',
  'rotate',
  'deliveries',
  'retry',
  'accept',
  'listSealed',
  'reseal',
] as const
export type OutgoingMethod = (typeof methods)[number]

export const outgoingOf = (env: Env, tenantId: string): LoadedCalls<OutgoingRows, OutgoingMethod> =>
  callLoaded(methods, () => tenantStub(env, tenantId).outgoing)
