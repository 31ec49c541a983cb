/** Defines what the agent keeps between sessions: facts of the tenant and of projects, and a profile of each person it works for. */

import type { Marks } from '../marks.ts'
import type { Authority } from '../permission/authority.ts'

/** `memory`: of the tenant. `user`: of the person who asks. `project`: of the session's project. */
export const memoryTargets = ['memory', 'user', 'project'] as const
export type MemoryTarget = (typeof memoryTargets)[number]

export type MemoryProject = {
  readonly id: string
  /** The session has it by its channel, so that everybody who writes there has it. */
  readonly isGiven?: boolean
}

export type MemoryOperation =
  | { readonly action: 'add'; readonly content: string }
  /** `oldText` is a part of exactly one entry. */
  | { readonly action: 'replace'; readonly oldText: string; readonly content: string }
  | { readonly action: 'remove'; readonly oldText: string }

/** One store, as it is shown. */
export type MemoryView = {
  readonly entries: readonly string[]
  /** The length of the entries with the separators between them. */
  readonly chars: number
  readonly limit: number
}

export type MemoryResult =
  | { readonly kind: 'done'; readonly view: MemoryView; readonly isChanged: boolean; readonly marks?: Marks }
  /** Waits for a person. */
  | { readonly kind: 'staged'; readonly id: string; readonly view: MemoryView; readonly marks?: Marks }
  | { readonly kind: 'refused'; readonly error: string; readonly view: MemoryView; readonly marks?: Marks }
  /** The store is switched off, or the authority does not reach it. */
  | { readonly kind: 'unavailable'; readonly error: string }

/** A write that waits for a person. */
export type PendingMemory = {
  readonly id: string
  readonly target: MemoryTarget
  /** Whose profile, or which project, it changes. Absent for the memory of the tenant. */
  readonly owner?: string
  readonly operations: readonly MemoryOperation[]
  readonly sessionId?: string
  /** For whom the agent wrote, as `holderOf` names them. Absent in older writes. */
  readonly by?: string
  readonly createdAt: number
  /** Written by a turn that had read what others wrote. Absent in older writes. */
  readonly isForeign?: boolean
}

export type MemoryChange = {
  readonly target: MemoryTarget
  readonly operations: readonly MemoryOperation[]
  /** The same for a repetition of the same change, which is then answered as before. */
  readonly key?: string
  readonly sessionId?: string
  /** Needed for the target `project`. Tools leave it to the session. */
  readonly project?: MemoryProject | undefined
}

/** The service of tools. */
export type Memory = {
  readonly read: (authority: Authority, target: MemoryTarget) => Promise<MemoryResult>
  /** Also counts refusals: after three in one turn, `isLast` tells that the model has to give up. */
  readonly change: (
    authority: Authority,
    change: MemoryChange,
  ) => Promise<{ readonly result: MemoryResult; readonly isLast: boolean }>
}

/** The memory in the prompts of new sessions. */
export type MemoryMaterial = {
  readonly memory: readonly string[]
  /** An entry was written by a turn that had read what others wrote, or is older than marks. */
  readonly isForeign?: true
  /** The owners that have a profile. Their entries are read for each session. */
  readonly owners: readonly string[]
  /** The projects that have entries, which are read for each session too. */
  readonly projects?: readonly string[]
}
