/**
 * Stores fixes of failed calls, and starts a review of the conversation in a session of its own, in the background of an ended turn. The review has two
 * toolsets and the authority of the turn, acts as a principal of its own, and never touches the conversation.
 */

import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import { joinMarks, type Marks } from '#agent/core/marks.ts'
import { marksOfMessages } from '#agent/untrusted/result-marks.ts'
import { hasSaidHowItWent, isTaughtBy } from '#durable/turn/how-it-went.ts'
import { sessionMarks } from '#durable/turn/turn-marks.ts'
import {
  hasScope,
  actAs,
  type Authority,
  marksOfAuthority,
  narrow,
  withMarks,
} from '#agent/core/permission/authority.ts'
import { keyOf } from '#agent/core/permission/access.ts'
import type { Entry } from '#agent/core/history.ts'
import { log } from '#agent/core/log.ts'
import { userText } from '#agent/core/message.ts'
import { newTurn } from '#agent/core/turn.ts'
import { emptyCatalog } from '#agent/providers/catalog/model-lookup.ts'
import {
  defaultReviewSteps,
  defaultReviewTurns,
  isReviewDue,
  type RatedAnswer,
  maxReviewCalls,
  projectInstructions,
  type ReviewInterval,
  renderReview,
  reviewInstructions,
  reviewTools,
} from '#agent/skills/learning/review.ts'
import { findFixes, listTurnMessages } from '#agent/skills/learning/fixes.ts'
import { learningReview } from '#agent/skills/change-guard.ts'
import { findCheapModel } from '#agent/routing/cheap-model.ts'
import type { Route } from '#agent/routing/route.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { createSessionRoutes } from '#durable/models/session-routes.ts'
import { noAuxModel } from '#durable/models/side-call.ts'
import { newRunId, newSessionId } from '#durable/platform/ids.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import { fixesOf, type StoredFix } from '#durable/tenant/fixes/fixes.ts'
import type { Session } from '../session.ts'
import { hasOpenRatings, takeRatings } from './ratings.ts'
import { sessionStub, tenantStub } from '#durable/platform/addresses.ts'

/** Older rows are not reviewed, such as those of a long imported conversation. */
const maxRows = 60

/** Stores what the ended turn has fixed, and starts a review when it is time, or when a fix should become a skill. */
export async function learnFromTurn(session: Session, env: Env): Promise<void> {
  const authority = session.store.current()?.options.authority
  if (!authority || !isOfPerson(session, authority)) return
  const read = sessionMarks(session)
  const repeated = await recordFixes(session, env, withMarks(authority, read))
  if (session.settings.learning?.review === false || session.store.hasOpenTurn) return
  const model = chooseModel(session, env)
  const entries = model === undefined ? [] : listUnreviewed(session)
  const last = entries.at(-1)
  if (model === undefined || !last) return
  if (repeated.length === 0 && !isDue(session, entries)) return
  // Stored before the review begins: a part is reviewed once, and lost when the start fails.
  session.updateMeta({ reviewedThrough: last.seq })
  const { answers: rated, authorities: raters } = takeRatings(session)
  const joint = combineAuthorities([authority, ...listAuthorities(session, entries), ...raters])
  const marked = withMarks(joint, joinMarks(read, marksOfEntries(entries)))
  await submitReview(session, env, { model, entries, rated, repeated, authority: reviewAuthority(marked) })
}

/** Those of the turns that a review reads. */
const listAuthorities = ({ journal }: Session, entries: readonly Entry[]): readonly Authority[] =>
  [...new Set(entries.map(({ runId }) => runId))].flatMap((run) => journal.turnOfRun(run)?.options.authority ?? [])

/** Returns the fixes that were used often enough for a skill. The demo model repeats what it was told, so nothing is kept. */
async function recordFixes(session: Session, env: Env, authority: Authority): Promise<readonly StoredFix[]> {
  if (session.settings.learning?.fixes === false || getMainRoute(session, env)?.dialect === 'demo') return []
  const fixes = findFixes(listTurnMessages(session.store.transcript()))
  if (fixes.length === 0) return []
  const redactor = redactorFor(env, session.tenantId)
  const redacted = fixes.map(({ signature, tool, error, failed, fix }) => ({
    signature,
    tool,
    error: redactor.redact(error),
    failed: redactor.redact(failed),
    fix: redactor.redact(fix),
  }))
  return fixesOf(tenantStub(env, session.tenantId)).record(authority, redacted)
}

/** At once after a compression: a review reads the messages that the summary has replaced. */
const isDue = (session: Session, entries: readonly Entry[]): boolean =>
  hasOpenRatings(session) ||
  hasSaidHowItWent(session) ||
  entries.some(({ message }) => message.role === 'user' && message.source === 'summary') ||
  isReviewDue(entries, intervalOf(session))

const intervalOf = ({ settings: { learning } }: Session): ReviewInterval => ({
  turns: learning?.review_turns ?? defaultReviewTurns,
  steps: learning?.review_steps ?? defaultReviewSteps,
})

type Review = {
  readonly model: string
  readonly entries: readonly Entry[]
  readonly rated: readonly RatedAnswer[]
  readonly repeated: readonly StoredFix[]
  readonly authority: Authority
}

async function submitReview(
  session: Session,
  env: Env,
  { model, entries, rated, repeated, authority }: Review,
): Promise<void> {
  const tenant = session.tenant.snapshot
  if (!tenant || !hasScope(authority, 'write')) return
  const sessionId = newSessionId()
  const nonce = crypto.randomUUID().replaceAll('-', '').slice(0, 16)
  const redactor = redactorFor(env, session.tenantId)
  const text = renderReview(entries, { nonce, rated, repeated, redact: (line) => redactor.redact(line) })
  const submitted = await sessionStub(env, session.tenantId, sessionId).runs.submit({
    kind: 'request',
    authority,
    runId: newRunId(sessionId),
    tenant,
    message: userText(text, 'subagent', marksOfAuthority(authority)),
    options: {
      model,
      instructions: session.meta.project ? `${reviewInstructions}\n${projectInstructions}` : reviewInstructions,
      maxTurns: maxReviewCalls,
    },
    busyMode: 'queue',
    idempotency: 'none',
    target: {
      kind: 'create',
      spec: {
        source: 'learning',
        parentId: session.meta.id,
        title: 'Review',
        model,
        ephemeral: true,
        projectId: session.meta.project?.id,
      },
      history: [],
      isNewId: true,
    },
  })
  if (submitted?.status !== 'running')
    log.warn('learning.unstarted', 'A review of a conversation was not started.', { status: submitted?.status })
}

/** The turn was answered. */
function isOfPerson({ meta, store }: Session, authority: Authority): boolean {
  const { stage } = store.turn()
  return stage.at === 'done' && stage.outcome === 'answered' && isTaughtBy(meta, authority)
}

const marksOfEntries = (entries: readonly Entry[]): Marks => marksOfMessages(entries.map(({ message }) => message))

function listUnreviewed({ journal, meta }: Session): readonly Entry[] {
  const { reviewedThrough = 0 } = meta
  return journal
    .listRows()
    .filter(({ n }) => n > reviewedThrough)
    .slice(-maxRows)
    .flatMap(({ n }) => journal.row(n).row.entries)
    .filter(({ seq }) => seq > reviewedThrough)
}

/** A model that was chosen for it, that of side tasks, or a cheap one. Without one there is no review. */
function chooseModel(session: Session, env: Env): string | undefined {
  const configured = session.settings.learning?.model
  const deployed = env.AUX_MODEL?.trim()
  if (configured !== undefined || deployed) return configured ?? (deployed === noAuxModel ? undefined : deployed)
  const routesOf = createSessionRoutes(session, env)
  const main = getMainRoute(session, env)
  const routeOf = (id: string) => routesOf(newTurn('', 0, 0, { model: id })).find((route) => route.id === id)
  return main && findCheapModel(main, { catalog: sourcesFor(env).catalog ?? emptyCatalog, routeOf })
}

function getMainRoute(session: Session, env: Env): Route | undefined {
  const turn = session.store.turn()
  return createSessionRoutes(session, env)(turn)[turn.route.model]
}

/** Revoking the key of the conversation ends the review too. */
function reviewAuthority(authority: Authority): Authority {
  const keyId = keyOf(authority)
  const named = { ...actAs(authority, learningReview), ...(keyId !== undefined && { keyId }) }
  return narrow(named, { toolBounds: [reviewTools] })
}
