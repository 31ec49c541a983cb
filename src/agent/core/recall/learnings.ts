/** Defines what the tool `learning` asks for. */

import type { Authority } from '../permission/authority.ts'
import type { Marks } from '../marks.ts'

/** A failure and its fix, as somebody describes them. `failed`: the call or the command that failed. */
export type GivenFix = {
  readonly error: string
  readonly fix: string
  readonly tool?: string | undefined
  readonly failed?: string | undefined
}

export type LearningRequest = { readonly [Field in keyof GivenFix]?: GivenFix[Field] | undefined } & {
  readonly action: 'save' | 'search' | 'list' | 'tags' | 'consolidate' | 'off' | 'on'
  readonly query?: string | undefined
  readonly ids?: readonly string[] | undefined
  readonly tags?: readonly string[] | undefined
}

export type Learnings = {
  readonly handle: (
    request: LearningRequest,
    call: { readonly authority: Authority; readonly addMarks?: ((marks: Marks) => void) | undefined },
  ) => Promise<Readonly<Record<string, unknown>>>
}
