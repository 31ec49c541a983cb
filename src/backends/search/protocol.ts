/** Defines the RPC interface between a session and its line matcher, which may run in another isolate. */

/** For each text the 0-based numbers of the matching lines, or why there are none. */
export type MatchAnswer =
  | { readonly lines: readonly (readonly number[])[] }
  | { readonly invalid: string }
  | { readonly stopped: true }

export type MatchLines = (pattern: string, texts: readonly string[], timeoutMs: number) => Promise<MatchAnswer>
