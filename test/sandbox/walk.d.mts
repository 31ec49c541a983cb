export type Home = {
  /** Has the files a/first, z/own and z/deep/own. */
  readonly home: string
  readonly text: (path: string) => string
  /** Replaces a folder by a link to one of the host, as a command may do at any time. */
  readonly replaceByLink: (name: string) => void
  readonly remove: () => void
}
export function newHome(): Home
export function filesBelow(from: {
  readonly real: string
  readonly path: string
}): Generator<{ readonly real: string; readonly path: string; readonly below: string }, undefined>
export function walk(
  real: string,
  inside: string,
  visitor: {
    readonly visit: (entry: { readonly path: string; readonly type: string }) => Promise<boolean>
    readonly isShallow: (name: string) => boolean
    readonly onLocked: () => void
  },
): Promise<boolean>
