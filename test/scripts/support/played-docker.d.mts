/** Whether bubblewrap can run processes here. */
export const canPlay: boolean
export function playDocker(): Promise<{
  /** The variables that make wrangler use this engine. */
  readonly env: Readonly<Record<string, string>>
  readonly containers: ReadonlyMap<string, unknown>
  /** Calls of the client, requests to the API, and requests to network containers, in their order. */
  readonly log: () => readonly string[]
  readonly folderOf: (name: string) => string
  /** Ends a container from outside, as `docker rm --force` does. */
  readonly end: (name: string) => void
  /** Pauses the processes of a container. The engine then refuses to begin others. */
  readonly pause: (name: string) => void
  readonly unpause: (name: string) => void
  readonly close: () => void
}>
