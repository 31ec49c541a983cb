/** Defines the bundle of skills: the parser of SKILL.md, and the import. It is loaded on first use. */

import type { SkillContent } from '#agent/core/skills/skill.ts'
import type { ParsedSkill } from '#agent/skills/parse-skill.ts'

/** The answer of a server. */
export type Fetched = {
  readonly status: number
  /** The last address, after redirects. */
  readonly url: string
  readonly contentType: string
  readonly bytes: Uint8Array
}

/** Throws for an address that may not be called and for an answer that is too large. */
export type FetchBytes = (url: string, maxBytes: number) => Promise<Fetched>

export type ImportRequest = {
  readonly url: string
  /** Which one, where the address has several. */
  readonly name?: string | undefined
  readonly fetch: FetchBytes
}

export type ImportOutcome =
  | { readonly kind: 'found'; readonly files: readonly SkillContent[] }
  /** The address has several skills, and the request names none of them. */
  | { readonly kind: 'choose'; readonly names: readonly string[] }
  | { readonly kind: 'failed'; readonly error: string }

export type SearchRequest = {
  readonly query: string
  /** Addresses of repositories, sites with an index, and registries. */
  readonly sources: readonly string[]
  readonly fetch: FetchBytes
}

/** `url` and `name` are what an import needs. */
export type FoundSkill = {
  readonly name: string
  readonly description: string
  readonly url: string
  /** The place that offers it. */
  readonly source: string
}

export type SearchOutcome = {
  readonly skills: readonly FoundSkill[]
  readonly failed: readonly { readonly source: string; readonly error: string }[]
}

export type SkillModule = {
  readonly parseSkillFile: (content: string) => ParsedSkill
  readonly importSkill: (request: ImportRequest) => Promise<ImportOutcome>
  readonly searchSources: (request: SearchRequest) => Promise<SearchOutcome>
}
