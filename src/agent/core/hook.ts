/** Defines hooks: points of a session at which code of a tenant is told what happens, or decides about it. */

/** Their answers change what happens. */
export const decidingHooks = ['pre_tool_call', 'transform_tool_result', 'transform_llm_output'] as const
/** They are told, and change nothing. */
export const observers = [
  'on_session_start',
  'on_session_end',
  'post_tool_call',
  'post_llm_call',
  'pre_approval_request',
  'post_approval_response',
  'subagent_start',
  'subagent_stop',
] as const

export type DecidingHook = (typeof decidingHooks)[number]
export type Observer = (typeof observers)[number]
export type HookName = DecidingHook | Observer

/**
 * The decision of all hooks about one call. It is stored with the call before the call runs, so that no hook is asked
 * twice. Hooks only tighten: none of them lets a call run that would not run without it.
 */
export type HookRuling = {
  /** `approve`: a person decides, in every mode. Absent: the call is judged as any other. */
  readonly action?: 'block' | 'approve'
  /** Why, for the model and the person. */
  readonly reason?: string
  /** The plugins that decided something. */
  readonly by: readonly string[]
}
