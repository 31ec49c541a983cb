/**
 * Calls parts of the tenant's object whose code is loaded with the first call: one method, `run`, reaches those of the
 * loaded code. It checks the tenant of the authority, which every one of them gets first.
 */

import type { Authority } from '#agent/core/permission/authority.ts'

type LoadedPart = {
  readonly run: (authority: Authority, method: never, given: never) => Promise<unknown>
}

export type LoadedCalls<Loaded, Method extends keyof Loaded> = {
  readonly [Name in Method]: Loaded[Name] extends (...args: infer Args) => infer Answer
    ? (...args: Args) => Promise<Awaited<Answer>>
    : never
}

/** The types of calls between objects do not cover JSON of unknown shape. */
export const callLoaded = <Loaded, Method extends keyof Loaded>(
  methods: readonly Method[],
  part: () => LoadedPart,
): LoadedCalls<Loaded, Method> =>
  Object.fromEntries(
    methods.map((method) => [
      method,
      (authority: Authority, ...given: readonly unknown[]) => part().run(authority, method as never, given as never),
    ]),
  ) as unknown as LoadedCalls<Loaded, Method>
