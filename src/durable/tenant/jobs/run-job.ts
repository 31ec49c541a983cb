/**
 * Takes one run of a job a step further: from its claim to its session, and from there to its end. Every step may be
 * repeated after a crash: scripts and turns are keyed by the run, so that none of them runs twice.
 */

import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import { allMarks, foreignMarks, joinMarks, type Marks, noMarks } from '#agent/core/marks.ts'
import { type Authority, narrow, withMarks } from '#agent/core/permission/authority.ts'
import type { Sources } from '#agent/routing/route.ts'
import { jobInstructions, type Material, renderRunPrompt } from '#agent/schedule/job/run-prompt.ts'
import { judgeScript, type ScriptVerdict } from '#agent/schedule/job/script-output.ts'
import type { RunResult } from '#agent/schedule/job/answer.ts'
import { clock } from '#durable/platform/clock.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { newRunId } from '#durable/platform/ids.ts'
import { findBlock } from './preflight.ts'
import type { JobRows } from './job-rows.ts'
import type { JobRun, OpenRun, RunRows } from './run-rows.ts'
import type { JobSession, ScriptOutcome, SessionJobs } from './session-port.ts'
import { blockFindings } from '#agent/untrusted/injection-scan.ts'
import { fenceUntrusted } from '#agent/untrusted/fence.ts'
import type { JobPlan } from '#agent/schedule/job/job.ts'
import { diffTexts } from '#agent/schedule/job/text-diff.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

export type JobRunContext = {
  readonly jobs: JobRows
  readonly runs: RunRows
  readonly sessionOf: (sessionId: string) => SessionJobs
  readonly sources: () => Promise<Sources>
  readonly modelOfProject: (plan: JobPlan) => Promise<string | null | undefined>
  readonly guardedFetch: GuardedFetch
  readonly loadSkills: (authority: Authority, names: readonly string[]) => Promise<Material['skills']>
  /** Ends the run. `isBlocked`: its configuration cannot work, and nothing was tried. */
  readonly finish: (run: OpenRun, result: RunResult, isBlocked?: true) => void
}

/** A run that a limit has kept from its start for this time has failed. */
const startTimeoutMs = 1_800_000
/** A run that did not begin within this time, whatever the reason, is given up. Its scripts may take two hours. */
const claimTimeoutMs = 9_000_000
const scriptTimeoutMs = 3_600_000
/** How often the end of a running session is looked for, if its report is lost. */
const pollMs = 60_000
const maxOutputChars = 50_000

export async function advanceRun(context: JobRunContext, run: OpenRun): Promise<void> {
  if (run.status === 'running') return pollRun(context, run)
  const expired = findTimeout(run)
  if (expired) return context.finish(run, expired)
  const block = findBlock(run.plan, await context.sources(), await context.modelOfProject(run.plan))
  if (block !== undefined) return context.finish(run, { status: 'failed', error: block }, true)
  await failpoint('job-claimed')
  const monitored = await runMonitor(context, run)
  if ('result' in monitored) return context.finish(run, monitored.result)
  const script = await runScript(context, run)
  if (script && 'result' in script) return context.finish(run, script.result)
  const scripted = script?.text
  const looked: OpenRun = monitored.seen ? { ...run, seen: monitored.seen } : run
  if (run.plan.isScriptOnly) {
    rememberSeen(context.jobs, looked)
    return context.finish(looked, { status: 'completed', output: cut(scripted ?? '') })
  }
  await startTurn(context, looked, await gatherMaterial(context, run, { monitored, scripted }))
}

const cut = (text: string): string =>
  text.length > maxOutputChars ? `${text.slice(0, maxOutputChars)}\n… (shortened)` : text

function findTimeout({ error, claimedAt }: OpenRun): RunResult | undefined {
  const waitedMs = clock.now() - claimedAt
  if (error !== undefined && waitedMs > startTimeoutMs)
    return { status: 'failed', error: `${error}, and half an hour has passed.` }
  if (waitedMs <= claimTimeoutMs) return undefined
  return { status: 'unknown', error: 'It could not be started, or its start was lost.' }
}

// --- monitors and scripts

type Monitored = { readonly seen?: OpenRun['seen']; readonly material?: Material['monitor'] }

async function runMonitor(context: JobRunContext, run: OpenRun): Promise<Monitored | { readonly result: RunResult }> {
  const { monitor } = run.plan
  if (!monitor) return {}
  const read = await readMonitor(context, run, monitor)
  if (typeof read !== 'string') return read
  const compared = await compareSeen(read, context.jobs.get(run.jobId)?.job.seen)
  if (!compared) return { result: { status: 'skipped', error: 'What it monitors is unchanged.' } }
  const { seen, diff } = compared
  const source = monitor.kind === 'url' ? monitor.text : 'the monitored script'
  return { seen, material: { source, text: read, ...(diff !== undefined && { diff }) } }
}

/** A monitor that fails is no change. */
async function readMonitor(
  context: JobRunContext,
  run: OpenRun,
  monitor: NonNullable<OpenRun['plan']['monitor']>,
): Promise<string | { readonly result: RunResult }> {
  if (monitor.kind === 'url') return readMonitoredAddress(context, run, monitor.text)
  const verdict = await execute(context, run, { key: 'monitor', command: monitor.text })
  if ('result' in verdict) return verdict
  if (verdict.kind === 'failed') return { result: { status: 'failed', error: `Monitor: ${verdict.error}` } }
  // A monitor that prints nothing has seen an empty text.
  return verdict.kind === 'output' ? verdict.text : ''
}

async function readMonitoredAddress(
  { sessionOf, guardedFetch }: JobRunContext,
  run: OpenRun,
  url: string,
): Promise<string | { readonly result: RunResult }> {
  const action = { tool: 'web_extract', input: { urls: [url] }, isOrdered: true }
  const refusal = await sessionOf(run.sessionId ?? '').judge(createAuthority(run), jobSession(run), action)
  const failed = (error: string) => ({ result: { status: 'failed', error } as const })
  if (refusal !== null) return failed(`The monitored address was not read: ${refusal ?? 'the session is another one.'}`)
  return readAddress(guardedFetch, url).catch((error: unknown) =>
    failed(`The monitored address could not be read: ${String(error)}`),
  )
}

async function runScript(context: JobRunContext, run: OpenRun) {
  const { script } = run.plan
  if (script === undefined) return undefined
  const verdict = await execute(context, run, { key: 'script', command: script })
  if ('result' in verdict) return verdict
  if (verdict.kind === 'output') return { text: verdict.text }
  const result: RunResult =
    verdict.kind === 'skip' ? { status: 'skipped', error: verdict.why } : { status: 'failed', error: verdict.error }
  return { result }
}

async function execute(
  { sessionOf }: JobRunContext,
  run: OpenRun,
  { key, command }: { readonly key: string; readonly command: string },
): Promise<ScriptVerdict | { readonly result: RunResult }> {
  const session = sessionOf(run.sessionId ?? '')
  const outcome = await session.runScript(createAuthority(run), jobSession(run), {
    key,
    command,
    timeoutMs: scriptTimeoutMs,
    isApproved: run.plan.approvedScripts.includes(await sha256Hex(command)),
  })
  return judgeOutcome(outcome)
}

function judgeOutcome(outcome: ScriptOutcome | undefined): ScriptVerdict | { readonly result: RunResult } {
  switch (outcome?.kind) {
    case undefined:
      return { result: { status: 'failed', error: 'The session of the run belongs to something else.' } }
    case 'lost':
      return {
        result: {
          status: 'unknown',
          error: 'The script was interrupted. It may have done its work, so it is not repeated.',
        },
      }
    case 'refused':
      return { result: { status: 'failed', error: outcome.reason } }
    case 'ended':
      return judgeScript(outcome)
  }
}

// --- the turn

async function gatherMaterial(
  { jobs, loadSkills }: JobRunContext,
  run: OpenRun,
  { monitored, scripted }: { readonly monitored: Monitored; readonly scripted: string | undefined },
): Promise<Material> {
  const { plan, jobId } = run
  return {
    skills: plan.skills.length ? await loadSkills(plan.authority, plan.skills) : [],
    contexts: listContexts(jobs, jobId, plan),
    ...(scripted !== undefined && { scriptOutput: scripted }),
    ...(monitored.material && { monitor: monitored.material }),
  }
}

async function startTurn(context: JobRunContext, claimed: OpenRun, material: Material): Promise<void> {
  const { plan, sessionId = '' } = claimed
  // The id is stored before the turn begins: a repeat has the same one.
  const runId = claimed.runId ?? newRunId(sessionId)
  const run = { ...claimed, runId }
  if (!context.runs.getOpen(run.id)) return
  context.runs.update(run, clock.now() + pollMs)
  const own = createAuthority(run, marksOfMaterial(material))
  const authority = combineAuthorities([own, ...listAuthors(context.jobs, run)])
  const outcome = await context.sessionOf(sessionId).start(authority, jobSession(run), {
    runId,
    text: renderPrompt(plan.prompt, material),
    ...(plan.origin?.typed !== undefined && { typed: plan.origin.typed }),
    instructions: jobInstructions,
    ...(plan.maxTurns !== undefined && { maxTurns: plan.maxTurns }),
  })
  const now = clock.now()
  if (!context.runs.getOpen(run.id)) return
  if (!outcome)
    return context.finish(run, { status: 'failed', error: 'The session of the run belongs to something else.' })
  if (outcome.kind === 'refused') return context.finish(run, { status: 'failed', error: outcome.reason })
  if (outcome.kind === 'over-limit') {
    const error = `The limit ${outcome.limit} was reached`
    return context.runs.update({ ...run, error }, now + outcome.retryAfterMs)
  }
  const { error: _, ...begun } = run
  context.runs.update({ ...begun, status: 'running', startedAt: now }, now + pollMs)
  rememberSeen(context.jobs, run)
  await pollRun(context, { ...begun, status: 'running', startedAt: now })
}

/** From now on the next run compares with this. */
function rememberSeen(jobs: JobRows, { jobId, seen }: OpenRun): void {
  const row = jobs.get(jobId)
  if (row && seen) jobs.put({ ...row.job, seen })
}

async function pollRun({ sessionOf, runs, finish }: JobRunContext, run: OpenRun): Promise<void> {
  await failpoint('job-running')
  const outcome = await sessionOf(run.sessionId ?? '').outcome(createAuthority(run), run.runId ?? '')
  const current = runs.getOpen(run.id)
  if (!current) return
  switch (outcome.kind) {
    case 'running':
      return runs.postpone(run.id, clock.now() + pollMs)
    case 'unknown':
      return finish(current, { status: 'unknown', error: 'The session of the run was deleted.' })
    case 'ended': {
      const { output, error, marks } = outcome
      if (!outcome.isCompleted)
        return finish(current, { status: 'failed', error: error ?? 'The turn failed.', output: cut(output), marks })
      if (output.trim() === '') return finish(current, { status: 'failed', error: 'The answer was empty.' })
      return finish(current, { status: 'completed', output: cut(output), marks })
    }
  }
}

/** Scripts read the workspace and may read the network. Other jobs may have read anything. */
const marksOfMaterial = ({ contexts, scriptOutput, monitor }: Material): Marks =>
  joinMarks(
    contexts.length || scriptOutput !== undefined ? allMarks : undefined,
    monitor === undefined ? undefined : foreignMarks,
  )

/** A run may do what the job may, with its toolsets only, and less when strangers have written its material. */
function createAuthority({ plan, jobId }: OpenRun, marks: Marks = noMarks): Authority {
  const own: Authority = { ...plan.authority, principal: { kind: 'job', id: jobId } }
  const narrowed = narrow(own, {
    ...(plan.toolsets && { toolBounds: [plan.toolsets] }),
    ...(marks.isForeign && { taint: 'untrusted' }),
  })
  return withMarks(narrowed, marks)
}

const jobSession = ({ id, plan }: OpenRun): JobSession => ({
  jobRun: id,
  title: plan.name,
  ...(plan.model !== undefined && { model: plan.model }),
  ...(plan.maxUsd !== undefined && { maxUsd: plan.maxUsd }),
  ...(plan.workdir !== undefined && { workdir: plan.workdir }),
  ...(plan.project !== undefined && { project: plan.project }),
})

// Gathers what the prompt of a run is made of: outputs of other jobs, of its script and of what it monitors.

/** Text that the material was made of, as strangers may have written it: directives in it are removed. */
const renderPrompt = (prompt: string, material: Material): string =>
  renderRunPrompt(prompt, material, (text, source) =>
    fenceUntrusted(blockFindings(text), { source, nonce: crypto.randomUUID().replaceAll('-', '').slice(0, 16) }),
  )

/** The last outputs of the jobs that a job reads. `self` and continuity are its own. */
function listContexts(jobs: JobRows, jobId: string, { contextFrom, isContinuous }: JobPlan): Material['contexts'] {
  const own = isContinuous || contextFrom.includes('self') ? [jobId] : []
  const others = contextFrom.filter((reference) => reference !== 'self')
  return [...own, ...others].map((reference) => {
    const job = (jobs.get(reference) ?? jobs.findByName(reference))?.job
    return {
      job: job?.plan.name ?? reference,
      ...(job?.lastOutput !== undefined && { output: job.lastOutput }),
    }
  })
}

/** Those of the other jobs whose outputs the run reads. */
const listAuthors = (jobs: JobRows, { plan: { contextFrom } }: OpenRun): readonly Authority[] =>
  contextFrom.flatMap((reference) => (jobs.get(reference) ?? jobs.findByName(reference))?.job.plan.authority ?? [])

const maxMonitoredBytes = 256 * 1024
const monitorTimeoutMs = 30_000
/** Characters that are kept to compare the next time. */
const maxSeenChars = 64_000

/** Reads the address of a monitor. Rejects for an address that is refused, does not answer or answers with an error. */
async function readAddress(guardedFetch: GuardedFetch, url: string): Promise<string> {
  const { response } = await guardedFetch({
    url,
    follow: true,
    timeoutMs: monitorTimeoutMs,
    maxBytes: maxMonitoredBytes,
  })
  if (response.ok) return response.text()
  await response.body?.cancel()
  throw new Error(`${new URL(url).host} answered with status ${response.status}.`)
}

type SeenItems = NonNullable<JobRun['seen']>

/** Compares with the last time. Undefined: unchanged. The first look counts as a change. */
async function compareSeen(
  text: string,
  before: SeenItems | undefined,
): Promise<{ readonly seen: SeenItems; readonly diff?: string } | undefined> {
  const hash = await sha256Hex(text)
  if (before?.hash === hash) return undefined
  const seen = { hash, text: text.slice(0, maxSeenChars) }
  if (!before) return { seen }
  return { seen, diff: diffTexts(before.text, seen.text) || 'The change is beyond the part that is compared.' }
}
