/**
 * Implements the operations that a session offers to its shell. After `stop` all of them fail, so that a command that
 * still runs cannot change anything.
 */

import type { Network } from './network.ts'
import type { FileAnswer, ShellHost } from './protocol.ts'
import type { Entry, SqlFiles } from './sql-files.ts'

type Operation = (files: SqlFiles, path: string, ...rest: never[]) => unknown

/** Throws the error that a shell prints for a missing file. */
function requireEntry(entry: Entry | undefined, path: string): Entry {
  if (!entry) throw new Error(`ENOENT: no such file or directory, stat '${path}'`)
  return entry
}

const operations: Readonly<Record<string, Operation>> = {
  stat: (files, path) => requireEntry(files.stat(path), path),
  lstat: (files, path) => requireEntry(files.lstat(path), path),
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

/** Operations after which an inline shell yields to other tasks of the Durable Object. */
const yieldEveryOperations = 200

export type StoppableHost = ShellHost & { readonly stop: () => void }

export type ShellHostOptions = {
  /** The shell runs inside the Durable Object and has to yield regularly. */
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
      if (yields && ++count % yieldEveryOperations === 0) await scheduler.wait(0)
      if (over) return { error: 'EINTR: interrupted' }
      try {
        return { ok: await operation(files, ...(args as [string, ...never[]])) }
      } catch (error) {
        return { error: messageOf(error) }
      }
    },
    async fetch(request): Promise<FileAnswer> {
      if (!network) return { error: 'this host has no network' }
      if (over) return { error: 'interrupted' }
      return network.fetch(request, ended.signal).then(
        (ok) => ({ ok }),
        (error: unknown) => ({ error: messageOf(error) }),
      )
    },
  }
}
