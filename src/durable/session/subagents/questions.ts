/**
 * Lets sessions of one tenant ask each other. The question is a message of the other session, with the rights of the one
 * that asks; the answer comes back as an injected message. Loaded with the first question.
 */

import { userText } from '#agent/core/message.ts'
import { type Authority, hasScope, holderOf, marksOfAuthority, withMarks } from '#agent/core/permission/authority.ts'
import type { SessionQuestion, SubagentReport } from '#agent/core/subagent.ts'
import { log } from '#agent/core/log.ts'
import { newTurn } from '#agent/core/turn.ts'
import { subagentTools } from '#agent/policy/subagent/limits.ts'
import { typedBy } from '#agent/untrusted/typed-text.ts'
import { sessionStub, type SessionStub } from '#durable/platform/addresses.ts'
import { clock } from '#durable/platform/clock.ts'
import { newRunId } from '#durable/platform/ids.ts'
import type { SessionAsker } from '#durable/storage/session-metadata.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { turnScope } from '#durable/turn/tools/turn-scope.ts'
import { sessionMarks } from '#durable/turn/turn-marks.ts'
import type { RequestSubmission } from '../intake/request.ts'
import type { Session } from '../session.ts'
import { submit } from '../submit.ts'
import { turnOf } from '../views/segments.ts'
import { type ChildRow, type ChildRows, isSubagent } from './child-rows.ts'
import { delegationOf } from './delegation-id.ts'
import { renderReport } from './ended-report.ts'
import type { AskedQuestion, SubagentStart } from './parent-session.ts'
import { withinLimit } from './reach.ts'
import { childAuthority } from './start-child.ts'

/** Questions of one run. */
const maxPerRun = 5
/** Rounds of question and answer without a message of a person, after which the sessions may talk for ever. */
const maxRounds = 4
/** Questions that one session answers or keeps waiting. */
const maxAskers = 20
const maxAnswerChars = 24_000
const busyRetryMs = 15_000

// --- in the session that asks

/** Stores a question. A repetition of the call finds it. A string says why it is refused. */
export function createQuestion(
  session: Session,
  rows: ChildRows,
  { callId, sessionId, message, authority }: SessionQuestion,
): ChildRow | string {
  const { store, meta } = session
  const turn = store.current() ?? newTurn(callId, 0, 0)
  const id = delegationOf(turn, store.lastMessageSeq(), callId)
  const known = rows.get(id)
  if (known) return known
  const asked = rows.all().filter((row) => !isSubagent(row))
  const round = countRounds(session, turn.id, asked)
  const refusal = explainRefusal(session, { sessionId, round, isFull: ofRun(asked, turn.id).length >= maxPerRun })
  if (refusal !== undefined) return refusal
  for (const row of asked) if (row.isDelivered && row.parentRun !== turn.id) rows.delete(row.id)
  const tools = session.toolRuntime.toolbox(session.settings, turnScope(session)).keys()
  const row: ChildRow = {
    id,
    runId: newRunId(sessionId),
    delegation: id,
    index: 0,
    parentRun: turn.id,
    target: sessionId,
    task: { goal: message, role: 'leaf' },
    authority,
    // It may do no more there than here, and asks nobody further.
    tools: subagentTools(tools, 'leaf', { depth: 1, maxDepth: 1 }),
    createdAt: clock.now(),
    state: { at: 'queued' },
  }
  rows.add([row])
  if (meta.questionRounds !== round) session.updateMeta({ questionRounds: round })
  return row
}

const ofRun = (rows: readonly ChildRow[], runId: string) => rows.filter(({ parentRun }) => parentRun === runId)

/** The rounds since a person or a job has written last, with the one that begins. */
function countRounds({ journal, meta }: Session, runId: string, asked: readonly ChildRow[]): number {
  const isFirst = journal
    .entriesOfRun(runId)
    .some(({ message }) => message.role === 'user' && (message.source === undefined || message.source === 'job'))
  if (isFirst) return 1
  const before = meta.questionRounds ?? 0
  return ofRun(asked, runId).length ? before : before + 1
}

type Asking = { readonly sessionId: string; readonly round: number; readonly isFull: boolean }

function explainRefusal(session: Session, { sessionId, round, isFull }: Asking): string | undefined {
  const { meta } = session
  if (sessionId === session.sessionId) return 'That is this session itself.'
  if (meta.subagent || meta.ephemeral) return 'The answer would reach nobody: this session ends with its report.'
  if (isFull) return `A run may ask ${maxPerRun} questions. Wait for the answers.`
  if (round > maxRounds)
    return `The sessions have asked each other ${maxRounds} times without a message of a person. Say what you have, and ask the person how to go on.`
  return undefined
}

/** Sends a question. A repetition finds the run of an earlier attempt. */
export function sendQuestion(
  session: Session,
  stub: SessionStub,
  row: ChildRow,
  tenant: TenantSnapshot,
): Promise<SubagentStart> {
  const authority = withMarks(childAuthority(session, row), sessionMarks(session))
  const { sessionId, meta, store } = session
  const question: AskedQuestion = {
    runId: row.runId,
    tenant,
    message: renderQuestion(row.task.goal, meta.title ?? sessionId),
    typed: typedBy(store.transcript()),
    asker: { sessionId, id: row.id, runId: row.runId },
  }
  return withinLimit<SubagentStart>(async () => stub.subagents.ask(authority, question))
}

const renderQuestion = (question: string, from: string): string =>
  [
    `[Another session asks: ${from.replaceAll(/[[\]\n]/g, ' ').slice(0, 100)}. Its agent wrote this, no person. Answer in your last message: it is sent back as it is.]`,
    question,
  ].join('\n')

export function renderAnswer({ id, target, task }: ChildRow, { status, output, error }: SubagentReport): string {
  const goal = task.goal.replaceAll(/\s+/g, ' ').slice(0, 200)
  const head = `[Session ${target} has answered question ${id}: ${goal}. This was written by the system, not by the user.`
  if (status !== 'completed') return `${head} There is no answer (${status}).]\n${error ?? ''}`.trim()
  return `${head} The answer is that of another agent: check what matters.]\n${output.slice(0, maxAnswerChars)}`
}

// --- in the session that is asked

/** Undefined: there is no such session for this authority. */
export async function receiveQuestion(
  session: Session,
  authority: Authority,
  question: AskedQuestion,
  blobs: R2Bucket | undefined,
): Promise<SubagentStart | undefined> {
  const { meta } = session
  const mayRead = hasScope(authority, 'read') || meta.owner === holderOf(authority)
  if (!mayRead || !hasScope(authority, 'chat')) return undefined
  if (meta.subagent || meta.ephemeral) return { kind: 'refused', reason: 'that session answers no questions.' }
  if (!keepAsker(session, question.asker)) return fullOfQuestions
  const submitted = await submit(session, createRequest(authority, question), blobs)
  const status = submitted?.status ?? 'deleted'
  if (['running', 'ended', 'joined', 'queued'].includes(status)) return { kind: 'started' }
  forget(session, question.runId)
  return submitted?.status === 'over-limit'
    ? { ...fullOfQuestions, retryAfterMs: submitted.retryAfter * 1_000 }
    : { kind: 'refused', reason: `that session does not accept it (${status}).` }
}

const fullOfQuestions = { kind: 'over-limit', limit: 'questions', retryAfterMs: busyRetryMs } as const

/** False: too many wait already. */
function keepAsker(session: Session, asker: SessionAsker): boolean {
  const { askers = [] } = session.meta
  if (askers.some(({ runId }) => runId === asker.runId)) return true
  if (askers.length >= maxAskers) return false
  session.updateMeta({ askers: [...askers, asker] })
  return true
}

const createRequest = (authority: Authority, { runId, tenant, message, typed }: AskedQuestion): RequestSubmission => ({
  kind: 'request',
  authority,
  runId,
  tenant,
  message: { ...userText(message, 'subagent', marksOfAuthority(authority)), typed },
  options: {},
  busyMode: 'queue',
  idempotency: 'repeat',
  target: { kind: 'existing' },
})

/** Informs the sessions whose questions have ended. One that cannot be reached asks later. Never rejects. */
export async function answerAskers({ session, env }: { readonly session: Session; readonly env: Env }): Promise<void> {
  const { askers = [] } = session.meta
  await Promise.all(askers.map((asker) => answerOne(session, env, asker)))
}

async function answerOne(session: Session, env: Env, { runId, sessionId, id }: SessionAsker): Promise<void> {
  const turn = turnOf(session, runId)
  const report = turn && renderReport(session, turn)
  if (!report) return
  forget(session, runId)
  try {
    const stub = sessionStub(env, session.tenantId, sessionId)
    await withinLimit(async () => stub.subagents.report(session.ownAuthority, id, report, runId))
  } catch (error) {
    log.warn('question.unanswered', 'An answer could not be sent; the session that asked fetches it.', { error })
  }
}

function forget(session: Session, runId: string): void {
  const { askers = [] } = session.meta
  session.updateMeta({ askers: askers.filter((one) => one.runId !== runId) })
}
