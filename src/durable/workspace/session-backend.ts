/**
 * The one machine a session sees. Which one it is may change between two commands, by a setting; then the files move
 * first. Where they are is written down when they have all arrived, so that a crash in between changes nothing.
 */

import {
  BackendError,
  type BackendKind,
  type ExecutionBackend,
  type Files,
  type Jobs,
} from '../../agent/model/backend.ts'
import type { HostMemory } from '../../backends/host/host-port.ts'
import type { Checkpoints } from '../../backends/checkpoints.ts'
import type { PortableBackend } from '../../backends/portable-backend.ts'
import { onlyReads } from '../../agent/shell-policy/only-reads.ts'
import type { HostRecord } from '../storage/session-metadata.ts'
import type { CheckpointArchive } from './checkpoint-archive.ts'
import { moveFiles, skippedListPath, type SkippedFile, planTransfer } from './move-files.ts'

export type SessionBackendOptions = {
  readonly open: (kind: BackendKind) => PortableBackend
  /** What the settings ask for; throws what is wrong with them. */
  readonly requestedKind: () => BackendKind
  /** Resolves when the settings are known. */
  readonly waitForSettings: () => Promise<void>
  readonly record: () => HostRecord | undefined
  readonly write: (record: HostRecord) => void
  readonly noCapabilities: ExecutionBackend['capabilities']
  /** For machines that do not keep old versions themselves. */
  readonly archive?: CheckpointArchive | undefined
}

export type SessionBackend = ExecutionBackend &
  Pick<PortableBackend, 'snapshot' | 'restore'> & {
    /** Removes what there is of the session on other machines. */
    readonly destroy: () => Promise<void>
    /** The files for what a person does. */
    readonly userFiles: Files
    /** Those of the machine that is asked for, with the files on it. */
    readonly checkpoints: () => Promise<Checkpoints | undefined>
    /** What is changed from now on belongs to this turn. */
    readonly begin: (run: string) => void
    /** Of one machine, wherever the files are now: what was started there runs on there. */
    readonly jobsOn: (kind: BackendKind) => Jobs | undefined
  }

export function sessionBackend(options: SessionBackendOptions): SessionBackend {
  const { of, current, now } = machines(options)
  const { record, write, noCapabilities: missing, archive: archives } = options
  /** The machine, with a checkpoint of it where the agent is about to change something. */
  const changing = async (isChange: (root: string) => boolean = () => true) => {
    const machine = await current()
    if (!machine.checkpoints && isChange(machine.capabilities.root)) await archives?.saveBeforeChange(machine)
    return machine
  }
  const capabilities = () => (now() ?? { capabilities: missing }).capabilities
  return {
    get kind() {
      return now()?.kind ?? 'virtual'
    },
    get capabilities() {
      return capabilities()
    },
    learn: () => now()?.learn?.(),
    describe: () =>
      now()?.describe() ??
      'It cannot be used until its settings are mended; what they lack is in the error of every command.',
    async exec(command, how) {
      const result = await (await changing(() => !onlyReads(command))).exec(command, how)
      const known = record()
      if (known?.note === undefined) return result
      write({ ...known, note: undefined })
      return { ...result, stderr: `${known.note}\n${result.stderr}` }
    },
    files: filesOf(current, (path) => changing((root) => absolute(path, root).startsWith(`${root}/`))),
    userFiles: filesOf(current, async (path) => {
      const { userFiles: byHand, files, checkpoints, capabilities: its } = await current()
      if (!checkpoints) archives?.recordUserChange(absolute(path, its.root))
      return { files: byHand ?? files }
    }),
    async checkpoints() {
      const machine = await current()
      return machine.checkpoints ?? archives?.checkpointsOf(machine)
    },
    begin(run) {
      archives?.begin(run)
      now()?.checkpoints?.begin(run)
    },
    get jobs() {
      return capabilities().background ? jobsOf(current, changing) : undefined
    },
    resolve: (path, cwd) => (now() ?? of('virtual')).resolve(path, cwd),
    async *snapshot(which = () => true) {
      const backend = await current()
      // The object holds all of it at once, and a machine may have more than that.
      const { paths: take } = backend.kind === 'virtual' ? everything : planTransfer(await backend.tree())
      yield* backend.snapshot((path) => take.has(path) && which(path))
    },
    restore: async (entries) => (await current()).restore(entries),
    jobsOn: (kind) => of(kind).jobs,
    async destroy() {
      for (const kind of record()?.been ?? []) await destroyed(() => of(kind))
    },
  } as SessionBackend
}

const everything = { take: { has: () => true } }

function machines({ open, requestedKind: wanted, waitForSettings: settled, record, write, archive: archives }: SessionBackendOptions) {
  const opened = new Map<BackendKind, PortableBackend>()
  let moving: Promise<void> | undefined

  function of(kind: BackendKind): PortableBackend {
    const known = opened.get(kind) ?? open(kind)
    opened.set(kind, known)
    return known
  }

  /** The machine that is asked for, with the files on it. While they move, the setting may change once more. */
  async function current(): Promise<PortableBackend> {
    for (;;) {
      await settled()
      const kind = wanted()
      const backend = of(kind)
      if (moving || kind !== whereFilesAre(record())) {
        await (moving ??= move(kind).finally(() => (moving = undefined)))
        continue
      }
      if (!backend.checkpoints) await ended(backend)
      return backend
    }
  }

  /** Nobody sees a machine whose files are half put back. */
  async function ended(backend: PortableBackend): Promise<void> {
    try {
      await archives?.finishRollback(backend)
    } catch (error) {
      if (error instanceof BackendError) throw error
      console.error('A workspace could not be put back; it will be tried again.', error)
      throw new BackendError('unavailable', 'The workspace is being put back to an earlier state.', 'Try again soon.')
    }
  }

  async function move(kind: BackendKind): Promise<void> {
    const from = whereFilesAre(record())
    // Before anything is there: a session that is deleted now must know where to look.
    write({ ...record(), kind: from, been: together(record()?.been, kind) })
    if (!of(from).checkpoints) await ended(of(from))
    const left = await moveFiles(of(from), of(kind))
    await archives?.clear()
    write({ ...record(), kind, been: together(record()?.been, from, kind), note: noteOf(from, kind, left) })
  }

  /** What can be said without waiting. What is wrong with the settings is said when something is to be done. */
  function now(): PortableBackend | undefined {
    try {
      return of(wanted())
    } catch (error) {
      if (error instanceof BackendError) return undefined
      throw error
    }
  }

  return { of, current, now }
}

/** The memory of one machine inside the record of the session. */
export function hostMemory(
  kind: BackendKind,
  { record, write }: Pick<SessionBackendOptions, 'record' | 'write'>,
): HostMemory {
  return {
    read: () => record()?.memories?.[kind] ?? {},
    write(memory) {
      const known = record() ?? { kind: 'virtual', been: [] }
      write({ ...known, memories: { ...known.memories, [kind]: memory } })
    },
  }
}

const whereFilesAre = (record: HostRecord | undefined): BackendKind => record?.kind ?? 'virtual'
const together = (been: readonly BackendKind[] = [], ...more: readonly BackendKind[]): readonly BackendKind[] =>
  [...new Set([...been, ...more])].filter((kind) => kind !== 'virtual')

/** A machine that is no longer set up cannot be asked; everything else that goes wrong is for the caller. */
async function destroyed(open: () => PortableBackend): Promise<void> {
  let backend: PortableBackend
  try {
    backend = open()
  } catch (error) {
    console.warn('Files of a deleted session may be left on a machine that is not set up any more.', error)
    return
  }
  await backend.destroy()
}

function noteOf(from: BackendKind, to: BackendKind, left: readonly SkippedFile[]): string | undefined {
  if (!left.length) return undefined
  const names = left.slice(0, 5).map(({ path }) => path)
  const more = left.length > names.length ? ` and ${left.length - names.length} more` : ''
  return `[The workspace moved from ${from} to ${to} without ${names.join(', ')}${more}; all are listed in ${skippedListPath}.]`
}

type Current = () => Promise<PortableBackend>

/** `changing`: the machine to change this on. */
const filesOf = (current: Current, changing: (path: string) => Promise<Pick<PortableBackend, 'files'>>): Files => ({
  read: async (path) => (await current()).files.read(path),
  write: async (path, bytes) => (await changing(path)).files.write(path, bytes),
  stat: async (path) => (await current()).files.stat(path),
  list: async (path) => (await current()).files.list(path),
  remove: async (path) => (await changing(path)).files.remove(path),
  async move(from, to) {
    await changing(from)
    await (await changing(to)).files.move(from, to)
  },
  search: async (query) => (await current()).files.search(query),
})

const absolute = (path: string, root: string): string => (path.startsWith('/') ? path : `${root}/${path}`)

function jobsOf(current: Current, changing: Current): Jobs {
  const jobs = async (): Promise<Jobs> => {
    const { jobs: found } = await current()
    if (found) return found
    throw new BackendError('unsupported', 'This machine has no background jobs.', 'Run the command in the foreground.')
  }
  return {
    async start(id, command, how) {
      await changing()
      return (await jobs()).start(id, command, how)
    },
    state: async (id) => (await jobs()).state(id),
    output: async (id, from, max) => (await jobs()).output(id, from, max),
    async write(id, text, close) {
      const { write } = await jobs()
      if (!write) throw new BackendError('unsupported', 'A job has no input on this machine.')
      await write(id, text, close)
    },
    kill: async (id) => (await jobs()).kill(id),
  }
}
