/**
 * Delivers the results of a delegation once all its subagents have ended: to the call that waits for them, or as a
 * message of their own. The rows are marked in the write that delivers.
 */

import type { ToolMessage } from '#agent/core/message.ts'
import type { SubagentReport } from '#agent/core/subagent.ts'
import {
  type EndedTask,
  maxCharsOfSummary,
  renderDelivery,
  renderResults,
  renderSpilled,
} from '#agent/policy/subagent/result.ts'
import { loadSchemaValidator } from '#backends/modules.ts'
import { clock } from '#durable/platform/clock.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { deliverResult } from '#durable/turn/pending-requests.ts'
import { turnScope } from '#durable/turn/tools/turn-scope.ts'
import type { ChildRow, ChildRows } from './child-rows.ts'
import { mergeFiles } from './merge-files.ts'
import type { DeliverMessage } from './parent-session.ts'
import { delegationOf } from './delegation-id.ts'
import { inNameOf } from './start-child.ts'
import type { Session } from '../session.ts'
import { type SessionStub } from '#durable/platform/addresses.ts'

type Delivering = {
  readonly session: Session
  readonly rows: ChildRows
  readonly deliver: DeliverMessage
  readonly stubOf: (id: string) => SessionStub
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
  // The call is about to wait: the end of the driver comes here again.
  if (place === 'starting') return clock.now() + startingRetryMs
  if (place === 'away') return deliverToCall(delivering, ended, first.callId)
  markDelivered(delivering.rows, ended)
  return undefined
}

/** The call of a delegation: it waits, it is being made, or it is over. */
function getPlace({ store }: Session, { delegation, callId }: ChildRow): 'away' | 'starting' | 'gone' {
  const turn = store.current()
  if (!turn || turn.stage.at !== 'tools' || turn.stopRequested) return 'gone'
  const step = store.lastMessageSeq()
  const call = turn.stage.calls.find(({ id }) => id === callId)
  if (!call || call.state === 'settled' || delegationOf(turn, step, call.id) !== delegation) return 'gone'
  return call.state === 'away' ? 'away' : 'starting'
}

export const isAwaited = (session: Session, row: ChildRow): boolean => getPlace(session, row) !== 'gone'

const retryAfterMs = 5_000
const startingRetryMs = 1_000

async function deliverToCall(
  { session, rows, stubOf }: Delivering,
  ended: readonly EndedRow[],
  callId: string,
): Promise<number | undefined> {
  const results = await renderAll({ session, rows, stubOf }, ended)
  const message: ToolMessage = {
    role: 'tool',
    callId,
    name: 'delegate_task',
    content: [{ type: 'text', text: JSON.stringify(results) }],
    failed: false,
  }
  const [bounded] = await session.toolRuntime.receiveResults([message], turnScope(session))
  const admission = await session.billing.admitAgain(session.store.turn().id)
  if (!admission.ok) return clock.now() + admission.retryAfter * 1_000
  await failpoint('before-subagent-results')
  const [first] = ended
  // Nothing is awaited from here on: the result and the marks are one write.
  if (!bounded || !first || getPlace(session, first) !== 'away') return clock.now() + retryAfterMs
  markDelivered(rows, ended)
  deliverResult(session, bounded)
  return undefined
}

async function deliverInBackground(delivering: Delivering, ended: readonly EndedRow[]): Promise<number | undefined> {
  const { session, rows, deliver } = delivering
  const [first] = ended
  if (!first) return undefined
  const results = await renderAll(delivering, ended)
  const text = renderDelivery(first.delegation, results)
  const [message] = await session.toolRuntime.receiveResults(
    [
      {
        role: 'tool',
        callId: first.delegation,
        name: 'delegate_task',
        content: [{ type: 'text', text }],
        failed: false,
      },
    ],
    turnScope(session),
  )
  const bounded = message?.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('') ?? text
  await failpoint('before-subagent-results')
  // The key makes a repetition harmless.
  await deliver(inNameOf(session, first.authority), {
    key: first.delegation,
    source: 'subagent',
    text: bounded,
    startsTurn: true,
  })
  markDelivered(rows, ended)
  return undefined
}

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
async function renderAll({ session, rows, stubOf }: Omit<Delivering, 'deliver'>, ended: readonly EndedRow[]) {
  const { contextWindow, contextTokens } = session.store.current()
    ? session.driver.view()
    : { contextWindow: 0, contextTokens: 0 }
  const maxChars = maxCharsOfSummary(contextWindow - contextTokens, ended.length)
  const tasks: EndedTask[] = []
  for (const { id } of ended.toSorted((a, b) => a.index - b.index)) {
    const merged = await mergeFiles({ session, rows, stubOf }, id)
    if (merged && isEnded(merged)) tasks.push(await renderTask(session, merged, maxChars))
  }
  const started = Math.min(...ended.map(({ createdAt }) => createdAt))
  const over = Math.max(...ended.map(({ state }) => state.endedAt))
  return renderResults(tasks, over - started, ended[0]?.note)
}

async function renderTask({ toolRuntime }: Session, row: EndedRow, maxChars: number): Promise<EndedTask> {
  const { id, index, task, state } = row
  const { report } = state
  const { output } = report
  const isLong = output.length > maxChars
  const path = isLong ? await toolRuntime.spill(id, output).catch(() => undefined) : undefined
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
