export const token: string
export type SandboxServer = {
  readonly url: string
  readonly root: string
  readonly said: () => string
  readonly stop: () => Promise<void>
  /** Ends the server and leaves its folder to the next one. */
  readonly kill: () => Promise<void>
}
export type SandboxOptions = {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The folder of an earlier server. */
  readonly root?: string
  /** Also root has then no right to read all files. */
  readonly isUser?: boolean
}
export function startSandbox(options?: SandboxOptions): Promise<SandboxServer>
/** A new name; the workspace and its processes are removed when the server is stopped. */
export function newWorkspace(): string
export function call(url: string, path: string, init?: RequestInit): Promise<Response>
/** Writes into the folder of a workspace directly. */
export function onDisk(
  server: SandboxServer,
  workspace: string,
): {
  readonly write: (path: string, text: string) => void
  readonly link: (path: string, target: string) => void
  readonly text: (path: string) => string | undefined
  readonly pipe: (path: string) => void
}
/** Methods and paths of the OpenAPI document, with example names. */
export function documented(workspace: string): readonly (readonly [method: string, path: string])[]
