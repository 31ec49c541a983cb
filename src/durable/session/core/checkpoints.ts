/**
 * Lists the checkpoints of a session, compares with them and rolls back to them. A rollback changes files and
 * conversation in one transaction: a crash leaves both unchanged or both rolled back.
 */

import { BackendError } from '#agent/core/backend.ts'
import { textIn } from '#agent/core/message.ts'
import { allMarks } from '#agent/core/marks.ts'
import type { NamedCheckpoints } from '#agent/core/tool.ts'
import {
  type Change,
  type Checkpoint,
  checkpointLimits,
  type Checkpoints,
  keyOfName,
  type Restored,
  type Selection,
  splitKey,
} from '#backends/checkpoints.ts'
import { renderUnifiedDiff } from '#tools/file/patch/unified-diff.ts'
import type { Session } from '../session.ts'
import { type FileResult, workspaceFiles } from './files.ts'
import { clock } from '#durable/platform/clock.ts'

export type CheckpointView = {
  /** The number that `rollback` takes: 1 is the newest. */
  readonly n: number
  readonly at: string
  /** Null for a named one that a person has made. */
  readonly run_id: string | null
  readonly name: string | null
  /** Relative to the workspace. */
  readonly files: readonly string[]
  readonly count: number
  readonly left_out: readonly string[]
}

export type CheckpointDiff = {
  readonly files: readonly { readonly path: string; readonly added: number; readonly removed: number }[]
  readonly diff: string
  readonly binary: readonly string[]
  readonly left_out: readonly string[]
  /** Whether `diff` was cut at the size limit. */
  readonly truncated: boolean
}

export type RollbackResult =
  | { readonly kind: 'busy' | 'missing' }
  | {
      readonly kind: 'done'
      readonly restored: readonly string[]
      readonly kept: readonly string[]
      readonly left_out: readonly string[]
      /** The user messages of the undone turns, newest first. */
      readonly messages: readonly string[]
      readonly undone: number
    }

/** A checkpoint by its number or its name. */
export type CheckpointRef = number | string

/** Without `n` and `name`: to the state before the last turn that changed something, or the last but N. */
export type RollbackRequest = {
  readonly n?: number | undefined
  readonly name?: string | undefined
  /** 1 is the last turn. Names are not counted. */
  readonly turn?: number | undefined
} & Selection

const maxDiffChars = 200_000
/** A diff shows only the names of larger files. */
const maxFileBytes = 256 * 1024

/** The host of the workspace cannot be reached. */
export type Unreachable = { readonly unreachable: string }

/** Turns the error of an unreachable host into a result. */
export async function orUnreachable<T>(work: () => Promise<T>): Promise<T | Unreachable> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof BackendError)) throw error
    return { unreachable: `${error.message} ${error.hint}`.trim() }
  }
}

type CurrentCheckpoints = { readonly all: Checkpoints; readonly now: readonly Checkpoint[] }

/** Undefined when the backend keeps no checkpoints. Expired ones are left out. */
async function currentCheckpoints(session: Session): Promise<CurrentCheckpoints | undefined> {
  const all = await session.toolRuntime.backend.checkpoints()
  const oldest = clock.now() - checkpointLimits.ageMs
  return all && { all, now: (await all.list()).filter(({ at }) => at >= oldest) }
}

export async function listCheckpoints(session: Session): Promise<readonly CheckpointView[]> {
  const { now = [] } = (await currentCheckpoints(session)) ?? {}
  const short = relativeTo(session)
  return now.map(({ run, at, files, count, left }, i) => ({
    n: i + 1,
    at: new Date(at).toISOString(),
    run_id: splitKey(run).run || null,
    name: splitKey(run).name ?? null,
    files: files.map(short),
    count,
    left_out: left.map(short),
  }))
}

/** Names the present state of the workspace. */
export async function createNamed(
  session: Session,
  name: string,
  run?: string,
): Promise<'created' | 'exists' | 'unsupported'> {
  const current = await currentCheckpoints(session)
  if (!current) return 'unsupported'
  const key = keyOfName(name, run)
  // The call was repeated after a crash.
  if (run !== undefined && current.now[0]?.run === key) return 'created'
  if (pick(current, name)) return 'exists'
  return (await current.all.mark(key)) ? 'created' : 'unsupported'
}

const pick = ({ now }: Pick<CurrentCheckpoints, 'now'>, ref: CheckpointRef): Checkpoint | undefined =>
  typeof ref === 'number' ? now[ref - 1] : now.find(({ run }) => splitKey(run).name === ref)

export type DiffRequest = {
  readonly from: CheckpointRef
  /** Compares with this checkpoint instead of the current files. */
  readonly to?: CheckpointRef | undefined
  /** Only this file or directory. */
  readonly path?: string | undefined
}

/** Compares two states of the files, in any order, or one with the current files. Null when there is no such checkpoint. */
export async function diffSince(session: Session, { from, to, path }: DiffRequest): Promise<CheckpointDiff | null> {
  const current = await currentCheckpoints(session)
  const pair = current && pairOf(current, from, to)
  if (!current || !pair) return null
  const short = relativeTo(session)
  const isSelected = selectionOf(path === undefined ? undefined : short(session.toolRuntime.backend.resolve(path)))
  const parts = new DiffParts()
  const { isBackwards, between } = pair
  for await (const change of changesBetween(current.all, ...between)) {
    const name = short(change.path)
    if (isSelected(name)) parts.add(name, isBackwards ? reverse(change) : change)
    if (parts.isFull) break
  }
  return parts.view()
}

/**
 * Reads a file as it was before a turn, which is named by its number or its run. One that has not changed since is as it
 * is now. Null when there is no such checkpoint.
 */
export async function readFileAt(session: Session, path: string, turn: number | string): Promise<FileResult | null> {
  const { all, now } = (await currentCheckpoints(session)) ?? {}
  const checkpoint = typeof turn === 'number' ? now?.[turn - 1] : now?.find(({ run }) => run === turn)
  if (!all || !checkpoint) return null
  const wanted = session.toolRuntime.backend.resolve(path)
  for await (const change of all.changes(checkpoint.id, checkpointLimits.fileBytes)) {
    if (change.path !== wanted) continue
    if ('tooLarge' in change)
      return { kind: 'refused', message: 'This version was too large to keep.', code: 'invalid' }
    const { before } = change
    if (!before) return { kind: 'missing' }
    const stat = { path: wanted, type: 'file' as const, size: before.byteLength, modified: checkpoint.at }
    return { kind: 'file', bytes: before, stat }
  }
  return workspaceFiles(session).read(path)
}

type CheckpointPair = {
  readonly isBackwards: boolean
  /** The older one first. */
  readonly between: readonly [from: Checkpoint, to: Checkpoint | undefined]
}

function pairOf(current: CurrentCheckpoints, from: CheckpointRef, to: CheckpointRef | undefined) {
  const [start, end] = [pick(current, from), to === undefined ? undefined : pick(current, to)]
  if (!start || (to !== undefined && !end)) return undefined
  const isBackwards = end !== undefined && end.id < start.id
  return { isBackwards, between: isBackwards ? [end, start] : [start, end] } satisfies CheckpointPair
}

const reverse = (change: AnyChange): AnyChange =>
  'tooLarge' in change ? change : { ...change, before: change.after, after: change.before }

/** The whole workspace resolves to its absolute path. */
const selectionOf = (selected: string | undefined) => (name: string) =>
  selected === undefined || selected.startsWith('/') || name === selected || name.startsWith(`${selected}/`)

type AnyChange = Change | { readonly path: string; readonly tooLarge: true }

/** The content of a file before the later turn is its state at that time; a file that has not changed since is as it is now. */
async function* changesBetween(
  all: Checkpoints,
  from: Checkpoint,
  to: Checkpoint | undefined,
): AsyncGenerator<AnyChange> {
  const later = new Map<string, AnyChange>()
  if (to) for await (const change of all.changes(to.id, maxFileBytes)) later.set(change.path, change)
  for await (const change of all.changes(from.id, maxFileBytes)) {
    const end = later.get(change.path)
    later.delete(change.path)
    yield !end || 'tooLarge' in change ? change : 'tooLarge' in end ? end : { ...change, after: end.before }
  }
  // These are now as they were before the first turn.
  for (const end of later.values()) yield 'tooLarge' in end ? end : { ...end, before: end.after, after: end.before }
}

/** Collects the differences of files until they are too many. */
class DiffParts {
  #diff = ''
  readonly #files: { path: string; added: number; removed: number }[] = []
  readonly #binary: string[] = []
  readonly #leftOut: string[] = []

  get isFull(): boolean {
    return this.#diff.length > maxDiffChars
  }

  add(name: string, change: AnyChange): void {
    if ('tooLarge' in change) return void this.#leftOut.push(name)
    const [before, after] = [text(change.before), text(change.after)]
    if (before === 'binary' || after === 'binary') return void this.#binary.push(name)
    if (before?.text === after?.text) return
    const diff = renderUnifiedDiff({ path: `/${name}`, before: before?.text, after: after?.text })
    this.#diff += diff
    this.#files.push({ path: name, added: countLines(diff, '+'), removed: countLines(diff, '-') })
  }

  view(): CheckpointDiff {
    const diff = this.#diff.slice(0, maxDiffChars)
    return { files: this.#files, diff, binary: this.#binary, left_out: this.#leftOut, truncated: this.isFull }
  }
}

/** Lines of a unified diff that begin with the sign, without the names of the files. */
function countLines(diff: string, sign: '+' | '-'): number {
  const lines = diff.split('\n')
  const first = lines.findIndex((line) => line.startsWith('@@'))
  return lines.slice(Math.max(0, first)).filter((line) => line.startsWith(sign)).length
}

function text(bytes: Uint8Array | undefined): { readonly text: string } | 'binary' | undefined {
  if (!bytes) return undefined
  if (bytes.subarray(0, 8_000).includes(0)) return 'binary'
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    return 'binary'
  }
}

/** Restores files and undoes the turns since. Restoring a single file (`path`) leaves the conversation unchanged. */
export async function rollback(
  session: Session,
  storage: Pick<DurableObjectStorage, 'transactionSync'>,
  { n, name, turn = 1, ...given }: RollbackRequest,
): Promise<RollbackResult> {
  const selection = selectionIn(session, given)
  const current = await currentCheckpoints(session)
  const ref = name ?? n
  const checkpoint = current && (ref === undefined ? beginningsOfTurns(session, current)[turn - 1] : pick(current, ref))
  if (!current || !checkpoint) return { kind: 'missing' }
  const key = splitKey(checkpoint.run)
  const isWhole = selection.path === undefined && (ref === undefined || key.name === undefined)
  const done = await restoreFiles(storage, {
    all: current.all,
    checkpoint,
    selection,
    isRefused: () => session.store.hasOpenTurn,
    alsoDo: () => (isWhole ? undoFrom(session, key.run) : nothingUndone),
  })
  if (typeof done === 'string') return { kind: done }
  const { restored, kept, left } = done.files
  recordRollback(session, selection, restored)
  const short = relativeTo(session)
  const paths = { restored: restored.map(short), kept: kept.map(short), left_out: left.map(short) }
  return { kind: 'done', ...paths, ...done.also }
}

/**
 * The first checkpoint of each turn that changed files, newest first. It has a name when the turn gave one before its
 * first change; a command that gives a name is no turn.
 */
function beginningsOfTurns({ journal }: Session, { now }: CurrentCheckpoints): readonly Checkpoint[] {
  const byRun = Map.groupBy(now, ({ run }) => splitKey(run).run)
  byRun.delete('')
  return [...byRun]
    .filter(
      ([run, all]) =>
        all.some((one) => splitKey(one.run).name === undefined) ||
        (all.some(({ count }) => count > 0) && journal.rowsOfRun(run).length > 0),
    )
    .flatMap(([, all]) => all.at(-1) ?? [])
    .toSorted((a, b) => b.id - a.id)
}

/** Restores files for the turn that runs. The conversation stays. */
export async function restoreNamed(
  session: Session,
  storage: Pick<DurableObjectStorage, 'transactionSync'>,
  { name, path }: { readonly name: string; readonly path: string | undefined },
): ReturnType<NamedCheckpoints['restore']> {
  const current = await currentCheckpoints(session)
  const names = current?.now.flatMap(({ run }) => splitKey(run).name ?? []) ?? []
  const checkpoint = current && pick(current, name)
  if (!current || !checkpoint) return { kind: 'missing', names }
  const selection = selectionIn(session, path === undefined ? {} : { path })
  const given = { all: current.all, checkpoint, selection, isRefused: () => false, alsoDo: () => nothingUndone }
  const done = await restoreFiles(storage, given)
  if (typeof done === 'string') return { kind: 'missing', names }
  const { restored, kept } = done.files
  const { fileMarks, backend } = session.toolRuntime
  for (const one of restored) {
    // The marks of an earlier version are not known.
    fileMarks.set(one, allMarks)
    backend.known?.recordReported(one, 'changed')
  }
  return { kind: 'done', restored: restored.length, kept: kept.length }
}

const selectionIn = ({ toolRuntime }: Session, given: Selection): Selection =>
  given.path === undefined ? given : { ...given, path: toolRuntime.backend.resolve(given.path) }

type Restoring<T> = {
  readonly all: Checkpoints
  readonly checkpoint: Checkpoint
  readonly selection: Selection
  /** Asked again after each wait. */
  readonly isRefused: () => boolean
  /** Runs in the transaction that restores. */
  readonly alsoDo: () => T
}

async function restoreFiles<T>(
  storage: Pick<DurableObjectStorage, 'transactionSync'>,
  { all, checkpoint, selection, isRefused, alsoDo }: Restoring<T>,
): Promise<{ readonly files: Restored; readonly also: T } | 'busy' | 'missing'> {
  for (;;) {
    if (isRefused()) return 'busy'
    await all.prepare(checkpoint.id, selection)
    // A turn may have started, or another rollback may have finished, during the wait.
    if (isRefused()) return 'busy'
    if (!all.has(checkpoint.id, checkpoint.run)) return 'missing'
    const done = storage.transactionSync(() => {
      const files = all.restore(checkpoint.id, selection)
      return files && { files, also: alsoDo() }
    })
    if (!done) continue
    await all.finishRestore()
    // A rollback of everything removes the checkpoint; its name stays. It no longer begins the turn that gave it.
    const { name } = splitKey(checkpoint.run)
    if (name !== undefined && selection.path === undefined) await all.mark(keyOfName(name))
    return done
  }
}

/** A rollback of everything also takes from the conversation what the agent has read since. */
function recordRollback({ toolRuntime }: Session, { path }: Selection, restored: readonly string[]): void {
  const { known } = toolRuntime.backend
  if (path === undefined) known?.forget()
  else for (const one of restored) known?.recordChange(one, 'changed')
}

type Undone = { readonly undone: number; readonly messages: readonly string[] }
const nothingUndone: Undone = { undone: 0, messages: [] }

/** Removes the run and everything after it from the conversation. */
function undoFrom(session: Session, runId: string): Undone {
  const from = session.journal.rowsOfRun(runId)[0]?.n
  if (from === undefined) return nothingUndone
  const messages: string[] = []
  const runs = new Set<string>()
  for (const { n, runId: run, entries } of session.journal.rowsNewestFirst()) {
    if (n < from) break
    runs.add(run)
    for (const { message } of entries.toReversed())
      if (message.role === 'user' && !message.source) messages.push(textIn(message))
  }
  if (!runs.size) return nothingUndone
  session.store.undo(from)
  session.updateMeta({ retractedFrom: Math.min(from, session.meta.retractedFrom ?? from) })
  session.runInBackground(session.turns.project())
  return { undone: runs.size, messages: messages }
}

const relativeTo =
  ({ toolRuntime }: Session) =>
  (path: string): string => {
    const root = `${toolRuntime.backend.capabilities.root}/`
    return path.startsWith(root) ? path.slice(root.length) : path
  }
