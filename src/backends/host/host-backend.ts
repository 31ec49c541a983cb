/**
 * Makes a backend of a host. One per session. Its operations are loaded when the first one is used, because most sessions use
 * the virtual backend.
 */

import type { PortableBackend } from '../portable-backend.ts'
import type { HostOperations } from './host-operations.ts'
import type { HostOptions } from './host-port.ts'

export function hostBackend(options: HostOptions): PortableBackend {
  const { kind, port, root, network, languages, memory } = options
  const resolve = (path: string, cwd = root) => absolute(path, cwd, root)
  let opened: Promise<HostOperations> | undefined
  const open = () =>
    (opened ??= import('./host-operations.ts').then(({ openOperations }) => openOperations(options, resolve)))
  return {
    kind,
    capabilities: { streaming: false, background: true, pty: true, network, languages, root },
    describe: () => options.describe,
    resolve,
    ...operateWhenUsed(open),
    async destroy() {
      await port.destroy()
      memory.write({})
    },
  }
}

/** Delegates each operation to those that `open` loads. */
export function operateWhenUsed(open: () => Promise<HostOperations>): HostOperations {
  return {
    exec: async (command, execOptions) => (await open()).exec(command, execOptions),
    files: {
      read: async (path) => (await open()).files.read(path),
      write: async (path, bytes) => (await open()).files.write(path, bytes),
      stat: async (path) => (await open()).files.stat(path),
      list: async (path) => (await open()).files.list(path),
      remove: async (path) => (await open()).files.remove(path),
      move: async (from, to) => (await open()).files.move(from, to),
      links: async (isDeep) => (await (await open()).files.links?.(isDeep)) ?? [],
      search: async (query) => (await open()).files.search(query),
    },
    jobs: {
      start: async (id, command, jobOptions) => (await open()).jobs.start(id, command, jobOptions),
      state: async (id) => (await open()).jobs.state(id),
      output: async (id, from, max) => (await open()).jobs.output(id, from, max),
      write: async (id, text, close) => (await open()).jobs.write?.(id, text, close),
      kill: async (id) => (await open()).jobs.kill(id),
    },
    tree: async () => (await open()).tree(),
    async *snapshot(isWanted) {
      yield* (await open()).snapshot(isWanted)
    },
    restore: async (entries) => (await open()).restore(entries),
    clear: async () => (await open()).clear(),
  }
}

function absolute(path: string, cwd: string, root: string): string {
  const parts: string[] = []
  const whole =
    path === '~' || path.startsWith('~/') ? root + path.slice(1) : path.startsWith('/') ? path : `${cwd}/${path}`
  for (const part of whole.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}
