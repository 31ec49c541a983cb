/**
 * Selects the backend of a session. The setting may change between two commands; then the files move first. Their new place
 * is stored when all have arrived, so that a crash in between changes nothing.
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
  const { of, current, now } = openBackends(options)
  const { noCapabilities, record, archive, secrets = withNone, known: openKnown } = options
  /** Returns the current backend, after saving a checkpoint when the agent is about to change something. */
  const changing = async (isChange: (root: string) => boolean = () => true) => {
    const backend = await current()
    if (!backend.checkpoints && isChange(backend.capabilities.root)) await archive?.saveBeforeChange(backend)
    return backend
  }
  const capabilities = () => (now() ?? { capabilities: noCapabilities }).capabilities
  const known = openKnown?.({ kind: () => now()?.kind ?? 'virtual', ...createFiles(current, () => changing()) })
  const startJob = (timeoutMs: number) => (known?.beginCommand(timeoutMs), changing())
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
      const backend = await changing(() => !isReadOnly(command))
      const end = isReadOnly(command) ? undefined : known?.beginCommand()
      const result = await execWithSecrets(backend, command, execOptions, secrets()).finally(end)
      return withMoveNote(withPlaceNote(result, backend.kind, kindWithFiles(record())), options)
    },
    inspect: async (command, execOptions) => (await current()).exec(command, execOptions),
    files: createFiles(current, (path) => changing((root) => absolute(path, root).startsWith(`${root}/`))),
    userFiles: createFiles(current, async (path) => {
      const { userFiles: byHand, files, checkpoints, capabilities: its } = await current()
      if (!checkpoints) archive?.recordUserChange(absolute(path, its.root))
      return { files: byHand ?? files }
    }),
    checkpoints: async () => checkpointsIn(await current(), archive),
    begin(run) {
      archive?.begin(run)
      now()?.checkpoints?.begin(run)
    },
    get jobs() {
      return capabilities().background ? createJobs(current, startJob, secrets) : undefined
    },
    resolve: (path, cwd) => (now() ?? of('virtual')).resolve(path, cwd),
    async *snapshot(isWanted = () => true) {
      const backend = await current()
      // A host may have more files than can be copied.
      const { paths } = backend.kind === 'virtual' ? allPaths : planTransfer(await backend.tree())
      yield* backend.snapshot((path) => paths.has(path) && isWanted(path))
    },
    restore: async (entries) => (await current()).restore(entries),
    jobsOn: (kind) => of(kind).jobs,
    async destroy() {
      for (const kind of record()?.been ?? []) await destroyBackend(() => of(kind))
    },
  } as SessionBackend
}

/** Tells a command that the workspace moved while it ran. */
function withPlaceNote(result: ExecResult, from: BackendKind, to: BackendKind): ExecResult {
  if (from === to) return result
  const note = `[The workspace moved from ${from} to ${to} while this command ran. Files that it wrote after the move are not in the workspace: check them, and run the command again if some are missing.]`
  return { ...result, stderr: `${note}\n${result.stderr}` }
}

/** Tells the next command that files were left behind when the workspace moved. */
function withMoveNote(
  result: ExecResult,
  { record, write }: Pick<SessionBackendOptions, 'record' | 'write'>,
): ExecResult {
  const stored = record()
  if (stored?.note === undefined) return result
  write({ ...stored, note: undefined })
  return { ...result, stderr: `${stored.note}\n${result.stderr}` }
}

const checkpointsIn = (backend: PortableBackend, archive: CheckpointArchive | undefined): Checkpoints | undefined =>
  backend.checkpoints ?? archive?.checkpointsOf(backend)

const withNone = (): CommandSecrets => ({ env: {}, isIn: () => false })

const unusable = 'It cannot be used until its settings are fixed; the error of every command says what is missing.'

const allPaths = { paths: { has: () => true } }

function openBackends({ open, requestedKind, waitForSettings, record, write, archive }: SessionBackendOptions) {
  const opened = new Map<BackendKind, PortableBackend>()
  let moving: Promise<void> | undefined

  function of(kind: BackendKind): PortableBackend {
    const backend = opened.get(kind) ?? open(kind)
    opened.set(kind, backend)
    return backend
  }

  /** Returns the requested backend, after moving the files to it. The setting may change during a move. */
  async function current(): Promise<PortableBackend> {
    for (;;) {
      await waitForSettings()
      const kind = requestedKind()
      const backend = of(kind)
      if (moving || kind !== kindWithFiles(record())) {
        await (moving ??= move(kind).finally(() => (moving = undefined)))
        continue
      }
      if (!backend.checkpoints) await finishRollback(backend)
      return backend
    }
  }

  /** Finishes a rollback before the files are accessible. */
  async function finishRollback(backend: PortableBackend): Promise<void> {
    try {
      await archive?.finishRollback(backend)
    } catch (error) {
      if (error instanceof BackendError) throw error
      log.error('workspace.unrestored', 'A workspace could not be restored; it will be retried.', { error })
      throw new BackendError('unavailable', 'The workspace is being restored to an earlier state.', 'Try again soon.')
    }
  }

  async function move(kind: BackendKind): Promise<void> {
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

  /** Returns the requested backend synchronously. Invalid settings are reported by the next command instead. */
  function now(): PortableBackend | undefined {
    try {
      return of(requestedKind())
    } catch (error) {
      if (error instanceof BackendError) return undefined
      throw error
    }
  }

  return { of, current, now }
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

/** `changing` returns the files for a change at a path. */
const createFiles = (
  current: LoadBackend,
  changing: (path: string) => Promise<Pick<PortableBackend, 'files'>>,
): Files => ({
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
  links: async (isDeep) => (await (await current()).files.links?.(isDeep)) ?? [],
})

const absolute = (path: string, root: string): string => (path.startsWith('/') ? path : `${root}/${path}`)

function createJobs(
  current: LoadBackend,
  starting: (timeoutMs: number) => Promise<PortableBackend>,
  secrets: () => CommandSecrets,
): Jobs {
  const jobs = async (): Promise<Jobs> => {
    const { jobs: found } = await current()
    if (found) return found
    throw new BackendError('unsupported', 'This host has no background jobs.', 'Run the command in the foreground.')
  }
  return {
    async start(id, command, jobOptions) {
      await starting(jobOptions.timeoutMs)
      return (await jobs()).start(id, command, withSecrets(jobOptions, secrets()))
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
