/** Defines a batch: prompts that run in sessions of their own, within one budget. Addresses the part that stores batches. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { callLoaded, type LoadedCalls } from '../loaded-part.ts'
import type { BatchRunner } from './batch-runner.ts'

export const batchStatuses = ['running', 'completed', 'out_of_budget', 'cancelled'] as const
export type BatchStatus = (typeof batchStatuses)[number]
export const itemStatuses = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const
export type ItemStatus = (typeof itemStatuses)[number]

export type BatchPlan = {
  readonly name: string
  /** Of the person who started the batch. */
  readonly authority: Authority
  readonly model?: string | undefined
  readonly instructions?: string | undefined
  /** Prompts that run at a time. */
  readonly concurrency: number
  readonly budgetUsd?: number | undefined
  /** The most that is held for one prompt. Absent: an equal share of what is left. */
  readonly usdPerPrompt?: number | undefined
  readonly maxSteps?: number | undefined
  readonly maxOutputTokens?: number | undefined
}

export type Batch = {
  readonly id: string
  readonly plan: BatchPlan
  readonly status: BatchStatus
  readonly counts: Readonly<Record<ItemStatus, number>>
  /** Of all prompts that have ended, with those that are retried. */
  readonly spentUsd: number
  /** For prompts that run. Spent and held money never exceed the budget. */
  readonly heldUsd: number
  /** A smaller share could not pay the first call of a prompt. */
  readonly leastUsd?: number | undefined
  /** Why it ended before its prompts. */
  readonly reason?: string | undefined
  readonly createdAt: number
  readonly endedAt?: number | undefined
}

export type BatchItem = {
  readonly batch: string
  readonly n: number
  readonly status: ItemStatus
  readonly prompt: string
  /** The id that the client gave it. */
  readonly label?: string | undefined
  /** Counts from 1. */
  readonly attempt: number
  readonly sessionId?: string | undefined
  readonly runId?: string | undefined
  /** The session has the prompt. */
  readonly isStarted?: boolean | undefined
  readonly isCancelled?: boolean | undefined
  readonly heldUsd?: number | undefined
  /** Of the last attempt. */
  readonly costUsd?: number | undefined
  readonly startedAt?: number | undefined
  readonly finishedAt?: number | undefined
  readonly output?: string | undefined
  readonly error?: string | undefined
}

export type NewPrompt = { readonly prompt: string; readonly id?: string | undefined }

/** A stored value: when a prompt is due. */
export const nextName = 'batch next'

/** The session of a prompt. A new attempt has a new one. */
export const itemSessionId = (batch: string, n: number, attempt: number): string => `${batch}_${n}_${attempt}`

const runPattern = /^(batch_[0-9a-f]{32})_(\d+)_(\d+)$/
/** Undefined for a session of something else. */
export function parseItemSession(sessionId: string) {
  const [, batch, n, attempt] = runPattern.exec(sessionId) ?? []
  return batch === undefined ? undefined : { batch, n: Number(n), attempt: Number(attempt) }
}

const methods = ['create', 'list', 'get', 'items', 'cancel', 'retry', 'remove', 'reportEnd'] as const
export type BatchMethod = (typeof methods)[number]

export const batchesOf = (env: Env, tenantId: string): LoadedCalls<BatchRunner, BatchMethod> =>
  callLoaded(methods, () => tenantStub(env, tenantId).batches)
