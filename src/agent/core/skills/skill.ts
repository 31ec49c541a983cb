/** Defines skills: instructions in the format of agentskills.io that the model loads when it needs them. */

import type { Authority } from '../permission/authority.ts'

/** The origin of a skill. `bundled` ones come with the deployment, `agent` ones were written by the model. */
export type SkillSource = 'bundled' | 'user' | 'imported' | 'agent'

/** How far the text of a skill is trusted. It follows from the source. */
export type SkillTrust = 'builtin' | 'trusted' | 'community' | 'agent-created'

/** The result of the security scan. `dangerous` text is never stored and never shown to the model. */
export type SkillVerdict = 'safe' | 'caution' | 'dangerous'

/** One suspicious passage of a file. */
export type SkillFinding = {
  readonly path: string
  /** 1-based. */
  readonly line: number
  readonly verdict: Exclude<SkillVerdict, 'safe'>
  /** Names the kind of attack. */
  readonly reason: string
}

/** Names of toolsets and tools. */
export type ToolNames = { readonly toolsets: readonly string[]; readonly tools: readonly string[] }

export type SkillVariable = { readonly name: string; readonly prompt?: string; readonly help?: string }

export type SkillConfigEntry = { readonly key: string; readonly description?: string; readonly default?: string }

/** The front matter of a SKILL.md. */
export type SkillHead = {
  readonly name: string
  readonly description: string
  readonly version?: string
  readonly author?: string
  readonly license?: string
  readonly category: string
  /** Operating systems. Empty: any. */
  readonly platforms: readonly string[]
  readonly tags: readonly string[]
  readonly relatedSkills: readonly string[]
  /** The skill is listed only when the session has all of these. */
  readonly requires: ToolNames
  /** The skill is listed only when the session has none of these. */
  readonly fallbackFor: ToolNames
  readonly config: readonly SkillConfigEntry[]
  readonly variables: readonly SkillVariable[]
  readonly credentialFiles: readonly string[]
}

/** The part of a skill that the index and the lists need. */
export type SkillSummary = {
  readonly head: SkillHead
  readonly source: SkillSource
  readonly verdict: SkillVerdict
  readonly isPinned: boolean
  /** Milliseconds since 1970. Absent: it is offered to the model. */
  readonly archivedAt?: number
  /** Nobody has used or changed it for thirty days. */
  readonly isStale: boolean
  /** SHA-256 over all files. */
  readonly hash: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly usedAt?: number
  /** The address of an imported skill. */
  readonly origin?: string
  /** Others wrote it, or the model after it had read what others wrote. */
  readonly isForeign: boolean
}

export type SkillFile = {
  readonly path: string
  readonly bytes: number
  /** SHA-256. */
  readonly hash: string
}

/** A skill with one of its files. `content` is undefined for a file that is not text. */
export type SkillView = {
  readonly kind: 'skill'
  readonly summary: SkillSummary
  readonly path: string
  readonly fileHash: string
  readonly content: string | undefined
  readonly files: readonly SkillFile[]
}

/** `unknown-file`: `known` are the files that exist. */
export type SkillMiss =
  | { readonly kind: 'unknown'; readonly similar: readonly string[] }
  | { readonly kind: 'unknown-file'; readonly known: readonly string[] }
  | { readonly kind: 'archived' }

export const isSkillMiss = (found: SkillView | SkillMiss): found is SkillMiss => found.kind !== 'skill'

export type SkillContent = { readonly path: string; readonly bytes: Uint8Array }

/** A change by the tool `skill_manage`. */
export type SkillChange = { readonly name: string } &
  /** The category is for new skills. */
  (
    | { readonly action: 'create' | 'edit'; readonly content: string; readonly category?: string | undefined }
    | {
        readonly action: 'patch'
        readonly path: string
        readonly from: string
        readonly to: string
        readonly all: boolean
      }
    | { readonly action: 'write_file'; readonly path: string; readonly content: string }
    | { readonly action: 'remove_file'; readonly path: string }
    | { readonly action: 'delete'; readonly absorbedInto?: string | undefined }
  )

export type SkillChangeResult =
  | { readonly kind: 'done'; readonly summary?: SkillSummary; readonly findings: readonly SkillFinding[] }
  /** `error` says what to do instead. */
  | { readonly kind: 'refused'; readonly error: string; readonly findings?: readonly SkillFinding[] }

/** The means of a session. `toolsets` are the toolsets of its tools, `variables` what its commands get. */
export type SkillSurroundings = {
  readonly tools: ReadonlySet<string>
  readonly toolsets: ReadonlySet<string>
  readonly variables: ReadonlySet<string>
}

/** Skills of the tenant, for tools. */
export type Skills = {
  readonly list: (authority: Authority) => Promise<readonly SkillSummary[]>
  /** Names of the skills that fit the words, the best ones first. */
  readonly search: (authority: Authority, query: string) => Promise<readonly string[]>
  /** Counts as a use of the skill. */
  readonly view: (authority: Authority, name: string, path?: string) => Promise<SkillView | SkillMiss>
  readonly change: (authority: Authority, change: SkillChange, isCautionAccepted: boolean) => Promise<SkillChangeResult>
  /** Copies the files of a skill into the workspace, so that commands can run them. Returns the folder. */
  readonly copyToWorkspace: (authority: Authority, view: SkillView) => Promise<string | undefined>
  /** The means of the session now. */
  readonly surroundings: () => SkillSurroundings
  readonly sessionId: string
}
