/** Runs a script of a job in the workspace of its session, at most once for each key. */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import { assessWithFiles } from '#tools/terminal/assess-command.ts'
import { loadShellPolicy } from '#backends/modules.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import type { JobScript, ScriptOutcome } from '#durable/tenant/jobs/session-port.ts'
import type { Session } from '../session.ts'
import { ScriptRows } from './script-rows.ts'

/** Scripts that run in this instance, by session and key. A repeated call waits for the same end. */
const running = new WeakMap<Session, Map<string, Promise<ScriptOutcome>>>()

const maxOutputBytes = 200_000

export function runScript(session: Session, env: Env, script: JobScript): Promise<ScriptOutcome> {
  const scripts = running.get(session) ?? new Map<string, Promise<ScriptOutcome>>()
  running.set(session, scripts)
  const current = scripts.get(script.key)
  if (current) return current
  const rows = new ScriptRows(session.sql)
  const stored = rows.get(script.key)
  if (stored?.kind === 'known') return Promise.resolve(stored.outcome)
  // The instance that began it has ended.
  if (stored) return Promise.resolve({ kind: 'lost' })
  const work = perform(session, env, { script, rows }).finally(() => scripts.delete(script.key))
  scripts.set(script.key, work)
  return work
}

type Work = { readonly script: JobScript; readonly rows: ScriptRows }

async function perform(session: Session, env: Env, { script, rows }: Work): Promise<ScriptOutcome> {
  const { backend } = session.toolRuntime
  const refusal = await findRefusal(session, script)
  if (refusal !== undefined) return { kind: 'refused', reason: refusal }
  const { redact } = redactorFor(env, session.tenantId)
  rows.begin(script.key)
  await failpoint('job-script')
  const cwd = session.meta.shell?.cwd ?? backend.resolve('.')
  const outcome = await execute(backend, script, cwd)
  const shown: ScriptOutcome =
    outcome.kind === 'ended' ? { ...outcome, stdout: redact(outcome.stdout), stderr: redact(outcome.stderr) } : outcome
  rows.end(script.key, shown)
  return shown
}

async function execute(
  backend: ExecutionBackend,
  { command, timeoutMs }: JobScript,
  cwd: string,
): Promise<ScriptOutcome> {
  try {
    const { exitCode, stdout, stderr, timedOut } = await backend.exec(command, {
      cwd,
      timeoutMs,
      maxOutput: maxOutputBytes,
    })
    return { kind: 'ended', exitCode, stdout, stderr, hasTimedOut: timedOut }
  } catch (error) {
    return {
      kind: 'refused',
      reason: `The script could not run: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}

/** The policy for commands holds for scripts as well. Nobody can be asked while they run. */
async function findRefusal(session: Session, { command, isApproved }: JobScript): Promise<string | undefined> {
  const { backend } = session.toolRuntime
  await backend.files.stat('.')
  const shell = {
    read: () => session.meta.shell ?? { cwd: backend.resolve('.'), env: {} },
    write: () => undefined,
    policy: loadShellPolicy,
  }
  const { verdict, reasons } = await assessWithFiles(command, shell.read().cwd, { backend, shell })
  const why = reasons.join('; ')
  if (verdict === 'hardline') return `The script is never allowed: ${why}`
  const { mode, unattended = 'deny' } = session.settings.approvals ?? {}
  if (verdict === 'allow' || isApproved || mode === 'off' || unattended === 'allow') return undefined
  return `The script needs approval (${why}). A key with the scope "approve" has to save the job.`
}
