/**
 * Checkpoints of a session, as the API sees them: a list, what differs, and going back. Going back changes files and
 * conversation in one transaction, so that a crash leaves both as they were or both as they are to be.
 */

import { BackendError } from '../../agent/model/backend.ts'
import { textIn } from '../../agent/model/message.ts'
import type { Checkpoint, Checkpoints, Selection } from '../../backends/checkpoints.ts'
import { checkpointLimits } from '../../backends/checkpoints.ts'
import { renderUnifiedDiff } from '../../tools/file/patch/unified-diff.ts'
import type { Session } from './session.ts'
import { clock } from '../platform/clock.ts'

export type CheckpointView = {
  /** As `rollback` takes it: 1 is the last turn that changed something. */
  readonly n: number
  readonly at: string
  readonly run_id: string
  /** Relative to the workspace. */
  readonly files: readonly string[]
  readonly count: number
  readonly left_out: readonly string[]
}

export type Difference = {
  readonly diff: string
  readonly binary: readonly string[]
  readonly left_out: readonly string[]
  /** There is more than this shows. */
  readonly truncated: boolean
}

export type RollbackAnswer =
  | { readonly is: 'busy' | 'missing' }
  | {
      readonly is: 'done'
      readonly restored: readonly string[]
      readonly kept: readonly string[]
      readonly left_out: readonly string[]
      /** What people had said in the turns that were taken back, newest first. */
      readonly messages: readonly string[]
      readonly undone: number
    }

export type Rollback = { readonly n: number } & Selection

const MAX_DIFF = 200_000
/** Of one file: what is larger is named. */
const MAX_FILE = 256 * 1024

/** Where the machine that has the files cannot be reached. */
export type Unreachable = { readonly unreachable: string }

export async function reachable<T>(work: () => Promise<T>): Promise<T | Unreachable> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof BackendError)) throw error
    return { unreachable: `${error.message} ${error.hint}`.trim() }
  }
}

type Standing = { readonly all: Checkpoints; readonly now: readonly Checkpoint[] }

/** Undefined where the machine keeps none. */
async function standing(core: Session): Promise<Standing | undefined> {
  const all = await core.toolRuntime.backend.checkpoints()
  const oldest = clock.now() - checkpointLimits.ageMs
  return all && { all, now: (await all.list()).filter(({ at }) => at >= oldest) }
}

export async function listCheckpoints(core: Session): Promise<readonly CheckpointView[]> {
  const { now = [] } = (await standing(core)) ?? {}
  const short = shortened(core)
  return now.map(({ run, at, files, count, left }, i) => ({
    n: i + 1,
    at: new Date(at).toISOString(),
    run_id: run,
    files: files.map(short),
    count,
    left_out: left.map(short),
  }))
}

/** How files were before the turn, against how they are now. Null when there is no such checkpoint. */
export async function differenceSince(core: Session, n: number): Promise<Difference | null> {
  const { all, now } = (await standing(core)) ?? {}
  const checkpoint = now?.[n - 1]
  if (!all || !checkpoint) return null
  const short = shortened(core)
  let diff = ''
  const binary: string[] = []
  const leftOut: string[] = []
  for await (const change of all.changes(checkpoint.id, MAX_FILE)) {
    const name = short(change.path)
    if ('tooLarge' in change) leftOut.push(name)
    else {
      const [before, after] = [text(change.before), text(change.after)]
      if (before === 'binary' || after === 'binary') binary.push(name)
      else diff += renderUnifiedDiff({ path: `/${name}`, before: before?.text, after: after?.text })
    }
    if (diff.length > MAX_DIFF) break
  }
  return { diff: diff.slice(0, MAX_DIFF), binary, left_out: leftOut, truncated: diff.length > MAX_DIFF }
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

/**
 * Puts files back and takes the turns since out of the conversation; one file alone (`path`) leaves the conversation
 * as it is.
 */
export async function rollback(
  core: Session,
  storage: Pick<DurableObjectStorage, 'transactionSync'>,
  { n, ...given }: Rollback,
): Promise<RollbackAnswer> {
  const { backend } = core.toolRuntime
  const selection = given.path === undefined ? given : { ...given, path: backend.resolve(given.path) }
  const { all, now } = (await standing(core)) ?? {}
  const checkpoint = now?.[n - 1]
  if (!all || !checkpoint) return { is: 'missing' }
  for (;;) {
    if (core.store.hasOpenTurn) return { is: 'busy' }
    await all.prepare(checkpoint.id, selection)
    // Somebody else may have come here first while we waited.
    if (core.store.hasOpenTurn) return { is: 'busy' }
    if (!all.has(checkpoint.id, checkpoint.run)) return { is: 'missing' }
    const done = storage.transactionSync(() => {
      const files = all.restore(checkpoint.id, selection)
      return files && { files, taken: selection.path === undefined ? retractRun(core, checkpoint.run) : nothing }
    })
    if (!done) continue
    await all.finishRestore()
    const { restored, kept, left } = done.files
    const short = shortened(core)
    const named = { restored: restored.map(short), kept: kept.map(short), left_out: left.map(short) }
    return { is: 'done', ...named, ...done.taken }
  }
}

type Taken = { readonly undone: number; readonly messages: readonly string[] }
const nothing: Taken = { undone: 0, messages: [] }

/** The run and what came after it leave the conversation. */
function retractRun(core: Session, runId: string): Taken {
  const from = core.journal.rowsOfRun(runId)[0]?.n
  if (from === undefined) return nothing
  const said: string[] = []
  const runs = new Set<string>()
  for (const { n, runId: run, entries } of core.journal.rowsNewestFirst()) {
    if (n < from) break
    runs.add(run)
    for (const { message } of entries.toReversed())
      if (message.role === 'user' && !message.source) said.push(textIn(message))
  }
  if (!runs.size) return nothing
  core.store.undo(from)
  core.updateMeta({ retractedFrom: Math.min(from, core.meta.retractedFrom ?? from) })
  core.later(core.turns.project())
  return { undone: runs.size, messages: said }
}

const shortened =
  ({ toolRuntime: workbench }: Session) =>
  (path: string): string => {
    const root = `${workbench.backend.capabilities.root}/`
    return path.startsWith(root) ? path.slice(root.length) : path
  }
