/** Describes where entries of memory come from, their versions, and what is forgotten; addresses the part that stores them. */

import type { MemoryTarget } from '#agent/core/recall/memory.ts'
import type { TenantDO } from '../tenant-object.ts'
import { callLoaded, type LoadedCalls } from '../loaded-part.ts'
import type { StoredMemory } from './stored-memory.ts'

/** Fields are short because each version stores every entry. */
export type KnownEntry = {
  readonly text: string
  /** Milliseconds since 1970. Absent: stored before origins were. */
  readonly at?: number | undefined
  /** As `holderOf` names them. */
  readonly by?: string | undefined
  /** The session whose agent wrote it. Absent: a person did. */
  readonly sessionId?: string | undefined
  /** Others may have written it. */
  readonly isForeign?: true
}

export type EntryOrigin = Omit<KnownEntry, 'text' | 'isForeign'>

/** The entries of one store after a change. */
export type MemoryVersion = {
  readonly id: number
  readonly target: MemoryTarget
  /** The project whose store it is. */
  readonly project?: string
  readonly at: number
  readonly by?: string
  readonly sessionId?: string
  readonly entries: readonly string[]
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** One of words, session and person is given. */
export type ForgetRequest = {
  /** Entries with all of these words, whatever their case. */
  readonly words?: string | undefined
  /** Entries that the agent of this session wrote. */
  readonly sessionId?: string | undefined
  /** The owner of a profile: all of it, and what was stored for that person. */
  readonly person?: string | undefined
  /** Default: all stores, those of projects as far as the caller may change them. */
  readonly targets?: readonly MemoryTarget[]
  /** Only tells what would be forgotten. */
  readonly isPreview: boolean
}

export type Forgotten = {
  /** The texts of entries that the caller may read. */
  readonly entries: readonly { readonly target: MemoryTarget; readonly project?: string; readonly text: string }[]
  /** Entries of profiles of others. */
  readonly hidden: number
  /** Texts of earlier versions, and writes that wait, which go too. */
  readonly earlier: number
}

const methods = [
  'read',
  'change',
  'changeNow',
  'replaceAll',
  'listAll',
  'pending',
  'decide',
  'entries',
  'versions',
  'restore',
  'forget',
] as const
export type MemoryMethod = (typeof methods)[number]

export const memoryOf = (tenant: DurableObjectStub<TenantDO>): LoadedCalls<StoredMemory, MemoryMethod> =>
  callLoaded(methods, () => tenant.memory)
