/**
 * Delivers the results of a delegation once all its subagents have ended: to the call that waits for them, or as a
 * message of their own. The rows are marked in the write that delivers. Loaded with the first delivery.
 */

import { allMarks, joinMarks, type Marks, privateMarks } from '#agent/core/marks.ts'
import { combineAuthorities, joinContributors } from '#agent/core/permission/contribution.ts'
import type { ToolMessage } from '#agent/core/message.ts'
import type { SubagentFile, SubagentReport } from '#agent/core/subagent.ts'
import {
  type EndedTask,
  maxCharsOfSummary,
  renderDelivery,
  renderResults,
  renderSpilled,
} from '#agent/policy/subagent/result.ts'
import { loadSchemaValidator } from '#backends/modules.ts'
import type { ForeignChange } from '#durable/storage/session-metadata.ts'
import { clock } from '#durable/platform/clock.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { narrowByContributors } from '#agent/loop/turn-changes.ts'
import type { EndedProgram } from '#agent/core/pending-request.ts'
import { deliverResult } from '#durable/turn/pending-requests.ts'
import { turnScope } from '#durable/turn/tools/turn-scope.ts'
import { type ChildRow, type ChildRows, isSubagent } from './child-rows.ts'
import type { DeliverMessage } from './parent-session.ts'
import { getPlace, type PlaceOfCall, programOf } from './place-of-call.ts'
import { inNameOf } from './start-child.ts'
import type { Session } from '../session.ts'
import type { SessionStub } from '#durable/platform/addresses.ts'
import { log } from '#agent/core/log.ts'
import type { Files } from '#agent/core/backend.ts'
import { unpack } from '#backends/tar.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { digestOf, type FileChanges, type SubagentFileChange } from './files.ts'
import { withinLimit } from './reach.ts'

type Delivering = {
  readonly session: Session
  readonly rows: ChildRows
  readonly deliver: DeliverMessage
  readonly stubOf: (id: string) => SessionStub
  /** Hands results to the program that waits for them. Undefined: none waits. */
  readonly waiting: (delegation: string) => ((message: ToolMessage) => void) | undefined
}

type EndedRow = ChildRow & { readonly state: Extract<ChildRow['state'], { at: 'ended' }> }
const isEnded = (row: ChildRow): row is EndedRow => row.state.at === 'ended'

/** Returns when to try again, if something could not be delivered. */
export async function deliverResults(delivering: Delivering): Promise<number | undefined> {
  const { rows } = delivering
  const open = new Set(rows.all().flatMap((row) => (row.isDelivered ? [] : [row.delegation])))
  const retries: number[] = []
  for (const delegation of open) {
    const all = rows.ofDelegation(delegation)
    const ended = all.filter(isEnded)
    const retryAt = ended.length === all.length ? await deliverOne(delivering, ended) : undefined
    if (retryAt !== undefined) retries.push(retryAt)
  }
  return retries.length ? Math.min(...retries) : undefined
}

async function deliverOne(delivering: Delivering, ended: readonly EndedRow[]): Promise<number | undefined> {
  const { session } = delivering
  const [first] = ended
  if (!first) return undefined
  if (first.callId === undefined) return deliverInBackground(delivering, ended)
  const place = getPlace(session, first)
  switch (place.at) {
    // The call is about to wait: the end of the driver comes here again.
    case 'starting':
      return clock.now() + startingRetryMs
    case 'away':
      return deliverToCall(delivering, ended, place)
    case 'program':
      return deliverToProgram(delivering, ended)
    case 'gone':
      markDelivered(delivering.rows, ended)
      return undefined
  }
}

/**
 * The rows stay undelivered until the call of the program is over: if the program is lost, its call gets the results. The
 * end of the driver comes here again.
 */
async function deliverToProgram(delivering: Delivering, ended: readonly EndedRow[]): Promise<undefined> {
  const { session } = delivering
  const [first] = ended
  if (!first || !delivering.waiting(first.delegation)) return
  const results = await renderAll(delivering, ended, maxCharsForPrograms)
  const [bounded] = await session.toolRuntime.receiveResults(
    [createResult(first.callId ?? '', 'delegate_task', results, ended)],
    turnScope(session),
  )
  await failpoint('before-subagent-results')
  const hand = delivering.waiting(first.delegation)
  if (!bounded || !hand || getPlace(session, first).at !== 'program') return
  const { store } = session
  store.save({ turn: narrowByContributors(store.turn(), listContributors(ended)) })
  store.write()
  hand(bounded)
}

const createResult = (
  callId: string,
  name: string,
  value: object,
  ended: readonly EndedRow[],
): ToolMessage & { readonly marks: Marks } => ({
  role: 'tool',
  callId,
  name,
  content: [{ type: 'text', text: JSON.stringify(value) }],
  failed: false,
  marks: marksOfReports(ended),
})

const retryAfterMs = 5_000
const othersRetryMs = 30_000
/** A program reads results that the context of the model has no room for. */
const maxCharsForPrograms = maxCharsOfSummary(Infinity, 1)
const startingRetryMs = 1_000

async function deliverToCall(
  delivering: Delivering,
  own: readonly EndedRow[],
  { callId, program }: Extract<PlaceOfCall, { at: 'away' }>,
): Promise<number | undefined> {
  const { session, rows } = delivering
  const ended = program ? listOfProgram(session, rows, callId) : own
  // The end of the last one comes here before.
  if (!ended) return clock.now() + othersRetryMs
  const message = program
    ? await renderProgram(delivering, ended, { callId, program })
    : createResult(callId, 'delegate_task', await renderAll(delivering, ended), ended)
  const [bounded] = await session.toolRuntime.receiveResults([message], turnScope(session))
  const admission = await session.billing.admitAgain(session.store.turn().id)
  if (!admission.ok) return clock.now() + admission.retryAfter * 1_000
  await failpoint('before-subagent-results')
  const [first] = ended
  // Nothing is awaited from here on: the result and the marks are one write.
  if (!bounded || !first || getPlace(session, first).at !== 'away') return clock.now() + retryAfterMs
  markDelivered(rows, ended)
  deliverResult(session, bounded, { contributors: listContributors(ended) })
  return undefined
}

/** All subagents of a program that is over. Undefined: some have not ended. */
function listOfProgram(session: Session, rows: ChildRows, callId: string): readonly EndedRow[] | undefined {
  const all = rows
    .all()
    .filter((row) => row.callId !== undefined && programOf(row.callId) === callId && !row.isDelivered)
  const awaited = all.filter((row) => getPlace(session, row).at === 'away')
  const ended = awaited.filter(isEnded)
  return ended.length === awaited.length ? ended : undefined
}

/** The result of the program itself, with the reports of its subagents. */
async function renderProgram(
  merging: Merging,
  ended: readonly EndedRow[],
  { callId, program }: { readonly callId: string; readonly program: EndedProgram },
): Promise<ToolMessage> {
  const subagents: object[] = []
  const maxChars = maxCharsInContext(merging.session, ended.length)
  for (const delegation of new Set(ended.map((row) => row.delegation)))
    subagents.push(
      await renderAll(
        merging,
        ended.filter((row) => row.delegation === delegation),
        maxChars,
      ),
    )
  const { answer, failed, marks } = program
  const message = createResult(callId, 'execute_code', { ...(JSON.parse(answer) as object), subagents }, ended)
  return { ...message, failed, marks: joinMarks(message.marks, marks) }
}

async function deliverInBackground(delivering: Delivering, ended: readonly EndedRow[]): Promise<number | undefined> {
  const { session, rows, deliver } = delivering
  const [first] = ended
  if (!first) return undefined
  const text = isSubagent(first)
    ? renderDelivery(first.delegation, await renderAll(delivering, ended))
    : (await import('./questions.ts')).renderAnswer(first, first.state.report)
  const [message] = await session.toolRuntime.receiveResults(
    [
      {
        role: 'tool',
        callId: first.delegation,
        name: isSubagent(first) ? 'delegate_task' : 'sessions_send',
        content: [{ type: 'text', text }],
        failed: false,
        marks: marksOfReports(ended),
      },
    ],
    turnScope(session),
  )
  const bounded = message?.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('') ?? text
  await failpoint('before-subagent-results')
  // The key makes a repetition harmless.
  const authority = joinContributors(combineAuthorities([first.authority]), listContributors(ended))
  await deliver(inNameOf(session, authority), {
    key: first.delegation,
    source: 'subagent',
    text: bounded,
    startsTurn: true,
    marks: marksOfReports(ended),
  })
  markDelivered(rows, ended)
  return undefined
}

const marksOfReports = (ended: readonly EndedRow[]): Marks =>
  joinMarks(...ended.map(({ state }) => state.report.marks ?? allMarks))
/** Everybody who has written to a subagent has contributed to its result. */
const listContributors = (ended: readonly EndedRow[]) => ended.flatMap(({ state }) => state.report.contributors ?? [])

function markDelivered(rows: ChildRows, ended: readonly EndedRow[]): void {
  for (const { id } of ended) {
    const row = rows.get(id)
    if (row && isEnded(row)) rows.put(shorten({ ...row, isDelivered: true }))
  }
}

const maxKeptChars = 200

/** The session of the subagent has the whole texts. */
function shorten({ task, state, ...row }: EndedRow): ChildRow {
  const { context: _context, outputSchema: _schema, ...rest } = task
  const report = { ...state.report, output: state.report.output.slice(0, maxKeptChars), toolTrace: [], files: [] }
  return { ...row, task: { ...rest, goal: task.goal.slice(0, maxKeptChars) }, tools: [], state: { ...state, report } }
}

/** Copies the files of the subagents in the order of the tasks, and renders their reports. */
async function renderAll(
  { session, rows, stubOf }: Merging,
  ended: readonly EndedRow[],
  maxChars = maxCharsInContext(session, ended.length),
) {
  const tasks: EndedTask[] = []
  for (const { id } of ended.toSorted((a, b) => a.index - b.index)) {
    const merged = await mergeFiles({ session, rows, stubOf }, id)
    if (merged && isEnded(merged)) tasks.push(await renderTask(session, merged, maxChars))
  }
  const started = Math.min(...ended.map(({ createdAt }) => createdAt))
  const over = Math.max(...ended.map(({ state }) => state.endedAt))
  return renderResults(tasks, over - started, ended[0]?.note)
}

function maxCharsInContext({ store, driver }: Session, subagents: number): number {
  const { contextWindow, contextTokens } = store.current() ? driver.view() : { contextWindow: 0, contextTokens: 0 }
  return maxCharsOfSummary(contextWindow - contextTokens, subagents)
}

async function renderTask({ toolRuntime }: Session, row: EndedRow, maxChars: number): Promise<EndedTask> {
  const { id, index, task, state } = row
  const { report } = state
  const { output } = report
  const isLong = output.length > maxChars
  const path = isLong ? await toolRuntime.spill(id, output, report.marks).catch(() => undefined) : undefined
  const summary = isLong ? renderSpilled(output, maxChars, path ?? 'its session') : output
  const errors = task.outputSchema && (await findProblems(task.outputSchema, report))
  return { index, id, task, report, summary, ...(errors && { schemaErrors: errors }) }
}

/** The subagent's own turn has repaired the answer once already. */
async function findProblems(
  schema: Readonly<Record<string, unknown>>,
  { status, output, error }: SubagentReport,
): Promise<readonly string[]> {
  if (status !== 'completed') return [error ?? `The subagent ${status}.`]
  try {
    const value: unknown = JSON.parse(output)
    const { validateJson } = await loadSchemaValidator()
    return validateJson(schema, value)
  } catch (fault) {
    if (fault instanceof SyntaxError) return ['The answer is not JSON.']
    throw fault
  }
}

// Copies the files that a subagent has changed into the workspace of its parent. A file that has changed there
// meanwhile stays as it is, and the other version goes below /tmp. Repeating it changes nothing.

type Merging = {
  readonly session: Session
  readonly rows: ChildRows
  readonly stubOf: (id: string) => SessionStub
}

/** The files of these may be incomplete, or cannot be reached. */
const isUnreadable = ({ status }: SubagentReport): boolean => ['error', 'stalled', 'unknown'].includes(status)

const maxTries = 3
const maxListed = 200

/** Failed attempts by the id of the subagent. */
const failures = new Map<string, number>()

/** The row with the files that were copied. Rejects when they cannot be read now. */
async function mergeFiles(merging: Merging, id: string): Promise<ChildRow | undefined> {
  const { rows } = merging
  const row = rows.get(id)
  if (!row || row.state.at !== 'ended' || row.isMerged) return row
  const { report } = row.state
  const merged = isUnreadable(report) ? {} : await tryCopy(merging, row)
  const latest = rows.get(id)
  if (!latest || latest.state.at !== 'ended') return latest
  const next = { ...latest, isMerged: true as const, state: { ...latest.state, report: { ...report, ...merged } } }
  rows.put(next)
  return next
}

async function tryCopy(merging: Merging, row: ChildRow): Promise<Partial<SubagentReport>> {
  try {
    const files = await copyChanges(merging, row)
    failures.delete(row.id)
    return files.length ? { files: files.slice(0, maxListed) } : {}
  } catch (error) {
    const tries = (failures.get(row.id) ?? 0) + 1
    failures.set(row.id, tries)
    if (isOwnReset(error) || tries < maxTries) throw error
    failures.delete(row.id)
    log.warn('subagent.files_uncopied', 'The files of a subagent could not be copied.', { error })
    return { error: 'Its files could not be copied into the workspace.' }
  }
}

async function copyChanges(
  { session, stubOf }: Merging,
  { id, index, state }: ChildRow,
): Promise<readonly SubagentFile[]> {
  const { list, archive } = await withinLimit<FileChanges>(async () =>
    stubOf(id).subagents.changes(session.ownAuthority),
  )
  const changes = new Map(list.filter(({ path }) => isInside(path)).map((change) => [change.path, change]))
  const { files, capabilities } = session.toolRuntime.backend
  const marks = joinMarks(privateMarks, (state.at === 'ended' && state.report.marks) || allMarks)
  const mark = (path: string) => session.toolRuntime.fileMarks.set(path, marks)
  const { known } = session.toolRuntime.backend
  const report = (path: string, change: ForeignChange) => known?.recordReported(path, change)
  const target = { files, root: capabilities.root, other: `/tmp/subagents/${index}`, mark, report }
  const done: SubagentFile[] = []
  for await (const entry of archive ? unpack(archive) : []) {
    const change = changes.get(entry.path)
    if (change && entry.kind === 'file') done.push(await writeChange(target, change, entry.bytes))
  }
  for (const change of changes.values()) if (change.change === 'deleted') done.push(await removeChange(target, change))
  return done
}

/** `other`: the folder for versions of files that have changed here too. */
type MergeTarget = {
  readonly files: Files
  readonly root: string
  readonly other: string
  /** Gives a file the marks of the subagent. */
  readonly mark: (path: string) => void
  /** The agent has to read the file again before it replaces it. */
  readonly report: (path: string, change: ForeignChange) => void
}

async function writeChange(
  { files, root, other, mark, report }: MergeTarget,
  change: SubagentFileChange,
  bytes: Uint8Array,
): Promise<SubagentFile> {
  const path = `${root}/${change.path}`
  const isFree = await isUnchanged(files, path, change)
  const written = isFree ? path : `${other}/${change.path}`
  mark(written)
  await files.write(written, bytes)
  if (isFree) report(path, change.change === 'created' ? 'created' : 'changed')
  return { path: change.path, change: isFree ? change.change : 'conflict' }
}

async function removeChange({ files, root, report }: MergeTarget, change: SubagentFileChange): Promise<SubagentFile> {
  const path = `${root}/${change.path}`
  const isFree = await isUnchanged(files, path, change)
  if (isFree) {
    await files.remove(path)
    report(path, 'deleted')
  }
  return { path: change.path, change: isFree ? 'deleted' : 'conflict' }
}

/** Whether the file is still the one that was copied, or the change is here already. */
async function isUnchanged(files: Files, path: string, { base, digest }: SubagentFileChange): Promise<boolean> {
  const bytes = await files.read(path)
  const current = bytes && (await digestOf(bytes))
  return current === base || current === digest
}

const isInside = (path: string): boolean =>
  !path.startsWith('/') && path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
