/**
 * Selects the backend of a session. The setting may change between two commands; then the files move first. Their new place
 * is stored when all have arrived, so that a crash in between changes nothing. While something may change files, they stay,
 * because what it writes after a move would be lost.
 */

import { log } from '#agent/core/log.ts'
import {
  BackendError,
  type BackendKind,
  type ExecResult,
  type ExecutionBackend,
  type Files,
  type Jobs,
} from '#agent/core/backend.ts'
import type { HostMemory } from '#backends/host/host-port.ts'
import type { Checkpoints } from '#backends/checkpoints.ts'
import type { PortableBackend } from '#backends/portable-backend.ts'
import { loadShellPolicy } from '#backends/modules.ts'
import type { WorkspaceLocation } from '#durable/storage/session-metadata.ts'
import { type CommandSecrets, describeSecrets, execWithSecrets, withSecrets } from './command-secrets.ts'
import type { CheckpointArchive } from './checkpoint-archive.ts'
import type { KnownFilesOfSession } from './known-files.ts'
import { moveFiles, skippedListPath, type SkippedFile, planTransfer } from './move-files.ts'

export type SessionBackendOptions = {
  readonly open: (kind: BackendKind) => PortableBackend
  /** Returns the backend of the settings; throws when they are invalid. */
  readonly requestedKind: () => BackendKind
  /** Resolves when the settings are loaded. */
  readonly waitForSettings: () => Promise<void>
  readonly record: () => WorkspaceLocation | undefined
  readonly write: (record: WorkspaceLocation) => void
  readonly noCapabilities: ExecutionBackend['capabilities']
  /** Secrets in the environment of commands. Absent: none. */
  readonly secrets?: () => CommandSecrets
  /** Opens what the agent knows of files. Absent: only the agent changes files. */
  readonly known?: (workspace: KnownWorkspace) => KnownFilesOfSession
  /** For backends without checkpoints of their own. */
  readonly archive?: CheckpointArchive | undefined
  /** Lists the background processes that run on this backend. Absent: there are none. */
  readonly processesOn?: (kind: BackendKind) => readonly string[]
}

export type KnownWorkspace = Pick<Files, 'stat' | 'read'> & { readonly kind: () => BackendKind }

export type SessionBackend = ExecutionBackend &
  Pick<PortableBackend, 'snapshot' | 'restore'> & {
    /** Removes everything of the session on hosts. */
    readonly destroy: () => Promise<void>
    /** The files, for changes by the user. */
    readonly userFiles: Files
    readonly known: KnownFilesOfSession | undefined
    /** Runs a command of the system itself that changes no file: without secrets and without a checkpoint. */
    readonly inspect: ExecutionBackend['exec']
    /** The checkpoints of the current backend, after moving the files to it. */
    readonly checkpoints: () => Promise<Checkpoints | undefined>
    /** Assigns changes from now on to this turn. */
    readonly begin: (run: string) => void
    /** The jobs of one backend: jobs keep running there after the files have moved. */
    readonly jobsOn: (kind: BackendKind) => Jobs | undefined
  }

export function sessionBackend(options: SessionBackendOptions): SessionBackend {
  const { of, current, use, now } = openBackends(options)
  const { noCapabilities, record, archive, secrets = withNone, known: openKnown } = options
  const change = withCheckpoints(use, archive)
  const capabilities = () => (now() ?? { capabilities: noCapabilities }).capabilities
  const known = openKnown?.({
    kind: () => now()?.kind ?? 'virtual',
    ...createFiles(current, (_, work) => change(work)),
  })
  return {
    known,
    get kind() {
      return now()?.kind ?? 'virtual'
    },
    get capabilities() {
      return capabilities()
    },
    learn: () => now()?.learn?.(),
    describe: () => (now()?.describe() ?? unusable) + describeSecrets(secrets()),
    async exec(command, execOptions) {
      const { isReadOnly } = await loadShellPolicy()
      const execute = async (backend: PortableBackend) => {
        const end = isReadOnly(command) ? undefined : known?.beginCommand()
        return execWithSecrets(backend, command, execOptions, secrets()).finally(end)
      }
      const result = await change(execute, () => !isReadOnly(command))
      return withNote(withMoveNote(result, options), describeStay(options))
    },
    inspect: (command, execOptions) => use((backend) => backend.exec(command, execOptions)),
    files: createFiles(current, (path, work) => change(work, (root) => absolute(path, root).startsWith(`${root}/`))),
    userFiles: createFiles(current, (path, work) =>
      use(({ userFiles: byHand, files, checkpoints, capabilities: its }) => {
        if (!checkpoints) archive?.recordUserChange(absolute(path, its.root))
        return work({ files: byHand ?? files })
      }),
    ),
    checkpoints: async () => checkpointsIn(await current(), archive),
    begin(run) {
      archive?.begin(run)
      now()?.checkpoints?.begin(run)
    },
    get jobs() {
      return capabilities().background ? createJobs({ current, change, known, secrets }) : undefined
    },
    resolve: (path, cwd) => (now() ?? of('virtual')).resolve(path, cwd),
    async *snapshot(isWanted = () => true) {
      const backend = await current()
      // A host may have more files than can be copied.
      const { paths } = backend.kind === 'virtual' ? allPaths : planTransfer(await backend.tree())
      yield* backend.snapshot((path) => paths.has(path) && isWanted(path))
    },
    restore: (entries) => use((backend) => backend.restore(entries)),
    jobsOn: (kind) => of(kind).jobs,
    async destroy() {
      for (const kind of record()?.been ?? []) await destroyBackend(() => of(kind))
    },
  } as SessionBackend
}

const withNote = (result: ExecResult, note: string | undefined): ExecResult =>
  note === undefined ? result : { ...result, stderr: `${note}\n${result.stderr}` }

/** Informs the next command that files were left behind when the workspace moved. */
function withMoveNote(
  result: ExecResult,
  { record, write }: Pick<SessionBackendOptions, 'record' | 'write'>,
): ExecResult {
  const stored = record()
  if (stored?.note === undefined) return result
  write({ ...stored, note: undefined })
  return withNote(result, stored.note)
}

const checkpointsIn = (backend: PortableBackend, archive: CheckpointArchive | undefined): Checkpoints | undefined =>
  backend.checkpoints ?? archive?.checkpointsOf(backend)

const withNone = (): CommandSecrets => ({ env: {}, isIn: () => false })

const unusable = 'It cannot be used until its settings are fixed; the error of every command says what is missing.'

const allPaths = { paths: { has: () => true } }

function openBackends(options: SessionBackendOptions) {
  const { open, waitForSettings, record, archive } = options
  const opened = new Map<BackendKind, PortableBackend>()
  let moving: Promise<void> | undefined
  /** Operations that may change files of the current backend. The files do not move while one runs. */
  let changes = 0
  const finishRollback = (backend: PortableBackend) => finishRollbackOf(backend, archive)
  const selectKind = () => selectBackend(options, moving === undefined && changes > 0)

  function of(kind: BackendKind): PortableBackend {
    const backend = opened.get(kind) ?? open(kind)
    opened.set(kind, backend)
    return backend
  }

  /** Works with the current backend, from which the files do not move meanwhile. */
  async function use<T>(work: (backend: PortableBackend) => Promise<T>): Promise<T> {
    const backend = await current(() => changes++)
    try {
      return await work(backend)
    } finally {
      changes--
    }
  }

  /**
   * Returns the selected backend, after moving the files to it. The setting may change during a move. `onSelect` is called at
   * the moment from which another caller may move the files away.
   */
  async function current(onSelect?: () => void): Promise<PortableBackend> {
    for (;;) {
      await waitForSettings()
      const kind = selectKind()
      const backend = of(kind)
      if (moving || kind !== kindWithFiles(record())) {
        await (moving ??= moveWorkspace(kind, { ...options, of, finishRollback }).finally(() => (moving = undefined)))
        continue
      }
      if (!backend.checkpoints) await finishRollback(backend)
      if (moving || kind !== selectKind()) continue
      onSelect?.()
      return backend
    }
  }

  /** Returns the requested backend synchronously. Invalid settings are reported by the next command instead. */
  function now(): PortableBackend | undefined {
    try {
      return of(selectKind())
    } catch (error) {
      if (error instanceof BackendError) return undefined
      throw error
    }
  }

  return { of, current, use, now }
}

/** Finishes a rollback before the files are accessible. */
async function finishRollbackOf(backend: PortableBackend, archive: CheckpointArchive | undefined): Promise<void> {
  try {
    await archive?.finishRollback(backend)
  } catch (error) {
    if (error instanceof BackendError) throw error
    log.error('workspace.unrestored', 'A workspace could not be restored; it will be retried.', { error })
    throw new BackendError('unavailable', 'The workspace is being restored to an earlier state.', 'Try again soon.')
  }
}

type Selection = Pick<SessionBackendOptions, 'requestedKind' | 'record' | 'processesOn'>

/** Returns the requested backend, or the one with the files as long as something there may change them. */
function selectBackend({ requestedKind, record, processesOn }: Selection, isChanging: boolean): BackendKind {
  const [requested, from] = [requestedKind(), kindWithFiles(record())]
  return requested !== from && (isChanging || processesOn?.(from).length) ? from : requested
}

/** Returns for which processes the workspace waits before it moves. */
function describeStay({ requestedKind, record, processesOn }: Selection): string | undefined {
  const [requested, from] = [requestedKind(), kindWithFiles(record())]
  const names = requested === from ? [] : (processesOn?.(from) ?? [])
  if (!names.length) return undefined
  return `[The workspace stays on ${from} until its background processes have ended (${names.join(', ')}). Then it moves to ${requested}.]`
}

type MoveOptions = Pick<SessionBackendOptions, 'record' | 'write' | 'archive'> & {
  readonly of: (kind: BackendKind) => PortableBackend
  readonly finishRollback: (backend: PortableBackend) => Promise<void>
}

async function moveWorkspace(
  kind: BackendKind,
  { of, finishRollback, record, write, archive }: MoveOptions,
): Promise<void> {
  const from = kindWithFiles(record())
  // Stored before the move, so that deleting the session also cleans up the target.
  write({ ...record(), kind: from, been: mergeKinds(record()?.been, kind) })
  if (!of(from).checkpoints) await finishRollback(of(from))
  const skipped = await moveFiles(of(from), of(kind), record()?.left?.[kind])
  await archive?.clear()
  const left = { ...record()?.left, [kind]: undefined, [from]: skipped.slice(0, maxLeft).map(({ path }) => path) }
  const been = mergeKinds(record()?.been, from, kind)
  write({ ...record(), kind, been, left, note: renderNote(from, kind, skipped) })
}

/** Reads and writes the data of one host inside the record of the session. */
export function hostMemory(
  kind: BackendKind,
  { record, write }: Pick<SessionBackendOptions, 'record' | 'write'>,
): HostMemory {
  return {
    read: () => record()?.memories?.[kind] ?? {},
    write(memory) {
      const stored = record() ?? { kind: 'virtual', been: [] }
      write({ ...stored, memories: { ...stored.memories, [kind]: memory } })
    },
  }
}

const kindWithFiles = (record: WorkspaceLocation | undefined): BackendKind => record?.kind ?? 'virtual'
const mergeKinds = (been: readonly BackendKind[] = [], ...more: readonly BackendKind[]): readonly BackendKind[] =>
  [...new Set([...been, ...more])].filter((kind) => kind !== 'virtual')

/** Destroys a backend. One that is no longer set up is skipped; other errors are thrown. */
async function destroyBackend(open: () => PortableBackend): Promise<void> {
  let backend: PortableBackend
  try {
    backend = open()
  } catch (error) {
    log.warn('workspace.left_over', 'Files of a deleted session may remain on a backend that is not set up any more.', {
      error,
    })
    return
  }
  await backend.destroy()
}

/** Files that stay on a backend, of one move. More are removed when the workspace moves back. */
const maxLeft = 1_000

function renderNote(from: BackendKind, to: BackendKind, left: readonly SkippedFile[]): string | undefined {
  if (!left.length) return undefined
  const names = left.slice(0, 5).map(({ path }) => path)
  const more = left.length > names.length ? ` and ${left.length - names.length} more` : ''
  return `[The workspace moved from ${from} to ${to} without ${names.join(', ')}${more}; all are listed in ${skippedListPath}. They stay on ${from} until the workspace moves back.]`
}

type LoadBackend = () => Promise<PortableBackend>

/** `isChange`: whether files of the workspace with this root may change. */
type ChangeFiles = <T>(
  work: (backend: PortableBackend) => Promise<T>,
  isChange?: (root: string) => boolean,
) => Promise<T>

/** Works with the current backend, after saving a checkpoint when the agent is about to change something. */
const withCheckpoints =
  (use: ReturnType<typeof openBackends>['use'], archive: CheckpointArchive | undefined): ChangeFiles =>
  (work, isChange = () => true) =>
    use(async (backend) => {
      if (!backend.checkpoints && isChange(backend.capabilities.root)) await archive?.saveBeforeChange(backend)
      return work(backend)
    })

/** `change` works with the files for a change at a path. */
const createFiles = (
  current: LoadBackend,
  change: <T>(path: string, work: (holder: Pick<PortableBackend, 'files'>) => Promise<T>) => Promise<T>,
): Files => ({
  read: async (path) => (await current()).files.read(path),
  write: (path, bytes) => change(path, ({ files }) => files.write(path, bytes)),
  stat: async (path) => (await current()).files.stat(path),
  list: async (path) => (await current()).files.list(path),
  remove: (path) => change(path, ({ files }) => files.remove(path)),
  move: (from, to) => change(from, () => change(to, ({ files }) => files.move(from, to))),
  search: async (query) => (await current()).files.search(query),
  links: async (isDeep) => (await (await current()).files.links?.(isDeep)) ?? [],
})

const absolute = (path: string, root: string): string => (path.startsWith('/') ? path : `${root}/${path}`)

type JobContext = {
  readonly current: LoadBackend
  readonly change: ChangeFiles
  readonly known: KnownFilesOfSession | undefined
  readonly secrets: () => CommandSecrets
}

function createJobs({ current, change, known, secrets }: JobContext): Jobs {
  const jobsOf = ({ jobs: found }: PortableBackend): Jobs => {
    if (found) return found
    throw new BackendError('unsupported', 'This host has no background jobs.', 'Run the command in the foreground.')
  }
  const jobs = async (): Promise<Jobs> => jobsOf(await current())
  return {
    start(id, command, jobOptions) {
      known?.beginCommand(jobOptions.timeoutMs)
      return change((backend) => jobsOf(backend).start(id, command, withSecrets(jobOptions, secrets())))
    },
    state: async (id) => (await jobs()).state(id),
    output: async (id, from, max) => (await jobs()).output(id, from, max),
    async write(id, text, close) {
      const { write } = await jobs()
      if (!write) throw new BackendError('unsupported', 'A job has no input on this host.')
      await write(id, text, close)
    },
    kill: async (id) => (await jobs()).kill(id),
  }
}
