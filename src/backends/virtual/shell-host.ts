/**
 * The session's side of the file system a shell sees. After `stop` nothing is read or written any
 * more, whatever a command that is still running may try.
 */

import { fetchPublic, type Network } from './network.ts'
import type { FileAnswer, ShellHost } from './protocol.ts'
import type { Entry, SqlFiles } from './sql-files.ts'

type Operation = (files: SqlFiles, path: string, ...rest: never[]) => unknown

/** A missing file is an error here: shells print it. */
function found(entry: Entry | undefined, path: string): Entry {
  if (!entry) throw new Error(`ENOENT: no such file or directory, stat '${path}'`)
  return entry
}

const operations: Readonly<Record<string, Operation>> = {
  stat: (files, path) => found(files.stat(path), path),
  lstat: (files, path) => found(files.lstat(path), path),
  exists: (files, path) => files.stat(path) !== undefined,
  list: (files, path) => files.list(path),
  read: (files, path) => files.read(path),
  write: (files, path, bytes: Uint8Array) => files.write(path, bytes),
  append: (files, path, bytes: Uint8Array) => files.append(path, bytes),
  mkdir: (files, path, recursive: boolean) => files.mkdir(path, recursive),
  remove: (files, path, options: { recursive: boolean; force: boolean }) => files.remove(path, options),
  copy: (files, from, to: string, recursive: boolean) => files.copy(from, to, recursive),
  move: (files, from, to: string) => files.move(from, to),
  symlink: (files, target, path: string) => files.symlink(target, path),
  readlink: (files, path) => files.readlink(path),
  realpath: (files, path) => files.realpath(path),
  chmod: (files, path, mode: number) => files.change(path, { mode }),
  touch: (files, path, modified: number) => files.change(path, { modified }),
}

/** Operations after which an inline shell lets the object answer others. */
const YIELD_EVERY = 200

export type StoppableHost = ShellHost & { readonly stop: () => void }

export type ShellHostOptions = {
  /** Inline, the object has to be let go of now and then. */
  readonly yields: boolean
  readonly onOutput?: ((text: string) => void) | undefined
  readonly network?: Network | undefined
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export function shellHost(files: SqlFiles, { yields, onOutput: listen, network }: ShellHostOptions): StoppableHost {
  const ended = new AbortController()
  let count = 0
  let over = false
  let stop = (): void => {}
  const stopped = new Promise<void>((resolve) => {
    stop = () => {
      over = true
      ended.abort()
      resolve()
    }
  })
  return {
    stop: () => stop(),
    stopped: () => stopped,
    async print(text) {
      if (!over) listen?.(text)
    },
    async call(name, args): Promise<FileAnswer> {
      const operation = operations[name]
      if (!operation) return { error: `EINVAL: unknown operation '${name}'` }
      if (yields && ++count % YIELD_EVERY === 0) await scheduler.wait(0)
      if (over) return { error: 'EINTR: interrupted' }
      try {
        return { ok: await operation(files, ...(args as [string, ...never[]])) }
      } catch (error) {
        return { error: messageOf(error) }
      }
    },
    async fetch(request): Promise<FileAnswer> {
      if (!network) return { error: 'this machine has no network' }
      if (over) return { error: 'interrupted' }
      return fetchPublic(network, request, ended.signal).then(
        (ok) => ({ ok }),
        (error: unknown) => ({ error: messageOf(error) }),
      )
    },
  }
}
