/** Creates the session of a job's run, starts its turn and reads its end. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { userText } from '#agent/core/message.ts'
import type { createRunEnded } from '#agent/loop/announce.ts'
import type { JobOutcome, JobPrompt, JobSession, StartOutcome } from '#durable/tenant/jobs/session-port.ts'
import { fetchTenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { endOf, runOf } from '../read-session.ts'
import type { Session } from '../session.ts'
import type { SessionHost } from '../session-host.ts'
import { submit } from '../submit.ts'

const jobSource = 'cron'

/** Undefined when the session belongs to something else. */
export async function openJobSession(host: SessionHost, { jobRun, ...spec }: JobSession): Promise<Session | undefined> {
  const known = await host.find()
  if (known) {
    await known.ensureTenant()
    return known.meta.jobRun === jobRun ? known : undefined
  }
  const { session } = host
  await session.ensureTenant()
  if (session.exists || session.turns.isClosing)
    return session.exists && session.meta.jobRun === jobRun ? session : undefined
  session.create({
    source: jobSource,
    title: spec.title,
    jobRun,
    // It expires by itself if nothing is started in it.
    oneShot: true,
    ...(spec.model !== undefined && { model: spec.model }),
    ...(spec.maxUsd !== undefined && { settings: { limits: { usd_per_session: spec.maxUsd } } }),
  })
  session.updateMeta({})
  if (spec.workdir !== undefined) await loadDirectory(session, spec.workdir)
  session.turns.arm()
  return session
}

export async function startJob(
  session: Session,
  env: Env,
  authority: Authority,
  prompt: JobPrompt,
): Promise<StartOutcome> {
  const { runId, text, instructions, maxTurns } = prompt
  if (session.meta.oneShot) session.updateMeta({ oneShot: undefined })
  const outcome = await submit(
    session,
    {
      kind: 'request',
      authority,
      runId,
      tenant: await fetchTenantSnapshot(env, session.tenantId),
      message: userText(text, 'job'),
      options: { instructions, ...(maxTurns !== undefined && { maxTurns }) },
      busyMode: 'queue',
      idempotency: 'repeat',
      target: { kind: 'existing' },
    },
    env.BLOBS,
  )
  switch (outcome?.status) {
    case 'running':
    case 'queued':
    case 'joined':
    case 'ended':
      return { kind: 'started' }
    case 'over-limit':
      return { kind: 'over-limit', limit: outcome.limit, retryAfterMs: outcome.retryAfter * 1_000 }
    case 'too-large':
      return { kind: 'refused', reason: 'The prompt with its material is too large.' }
    default:
      return { kind: 'refused', reason: 'The session did not accept the prompt.' }
  }
}

export function readOutcome(session: Session, runId: string): JobOutcome {
  const run = runOf(session, runId)
  if (!run) return { kind: 'unknown' }
  const end = endOf(session, runId)
  if (!end) {
    session.turns.resumeIfUndriven()
    return { kind: 'running' }
  }
  const { output, completed: isCompleted, error, exit_reason: reason } = end satisfies ReturnType<typeof createRunEnded>
  return { kind: 'ended', isCompleted, output, ...(!isCompleted && { error: error ?? `The turn ended: ${reason}.` }) }
}

/** Makes the working directory of a job's session. */
async function loadDirectory(session: Session, path: string): Promise<void> {
  const { backend } = session.toolRuntime
  // The backend is opened first, because it says how paths are read.
  await backend.files.stat('.')
  const cwd = backend.resolve(path)
  await backend.exec(`mkdir -p -- '${cwd.replaceAll("'", `'\\''`)}'`, { timeoutMs: 30_000 })
  session.updateMeta({ shell: { cwd, env: {} } })
}
