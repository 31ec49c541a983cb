/**
 * Implements `SandboxPort` in the Durable Object that owns a container, on version 0.12.10 of the SDK. Only builds with
 * containers include it (src/worker/with-sandbox.ts). It handles these properties of the SDK:
 * - the default session ends or hangs with `exit`: every script runs in a process of its own
 * - a running process does not keep the container awake: before sleep it checks whether a job runs
 * - files are lost during sleep: they are saved before it, and regularly
 * - egress is closed and opened for allowed hosts with each script; keys are added outside of the container. The SDK
 *   stores the last rules, so that they outlive the object
 */

import { log } from '../../agent/model/log.ts'
import { type DirectoryBackup, Sandbox } from '@cloudflare/sandbox'
import type { SandboxResult, SandboxPort, SandboxFailure } from '../../backends/cloudflare/sandbox-port.ts'
import {
  type Egress,
  injectKey,
  type InjectKeyParams,
  applyEgress,
  type EgressVariables,
} from '../../backends/cloudflare/egress.ts'
import type { ScriptResult } from '../../backends/host/host-port.ts'
import { clock } from '../platform/clock.ts'

/** Makes the SDK run a command outside of any session. */
const noSession = '__DISABLE_SESSION__'
const savedKey = 'talaria:saved'
const workspace = '/workspace'
/** Time between two copies while the container is used. */
const saveEveryMs = 5 * 60_000
const keepSeconds = 30 * 24 * 3600
/** Additional time for the SDK beyond the script's timeout. */
const graceMs = 10_000

/** Prints `running` while one of our jobs runs. */
const findRunningJob = `for d in /tmp/.talaria/j-*; do
  [ -e "$d/exit" ] && continue
  grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$(cat "$d/pid" 2>/dev/null)/status" 2>/dev/null && { echo running; exit 0; }
done; echo none`

type SandboxEnv = Env &
  EgressVariables & {
    readonly BACKUP_BUCKET?: R2Bucket
    readonly R2_ACCESS_KEY_ID?: string
  }

export class SandboxBox extends Sandbox<SandboxEnv> {
  override sleepAfter = '10m'
  override enableInternet = false
  override interceptHttps = true
  override allowedHosts: string[] = []
  /** The rules that this instance has applied. */
  #egress: string | undefined
  #savedAt = clock.now()
  #saving: Promise<void> | undefined

  constructor(ctx: DurableObjectState<{}>, env: SandboxEnv) {
    super(ctx, env)
    // A job may still run from before the network was turned off.
    if (env.SANDBOX_NETWORK === 'off') ctx.waitUntil(this.setAllowedHosts([]))
  }

  async boxRun(script: string, timeoutMs: number, egress?: Egress): Promise<SandboxResult<ScriptResult>> {
    const failure = egress && (await this.#applyEgress(egress))
    if (failure) return { trouble: failure }
    return toResult(async () => {
      const { exitCode, stdout } = await this.execWithSessionToken(script, noSession, { timeout: timeoutMs + graceMs })
      if (clock.now() - this.#savedAt > saveEveryMs) this.ctx.waitUntil(this.#save())
      return { code: exitCode, output: stdout }
    })
  }

  /** Applies the rules, or returns the failure, in which case nothing has started. */
  async #applyEgress(egress: Egress): Promise<SandboxFailure | undefined> {
    const requested = JSON.stringify(egress)
    if (requested === this.#egress) return undefined
    const set = await toResult(() => applyEgress(this, egress, this.env))
    if ('trouble' in set) return { ...set.trouble, code: 'CONTAINER_UNAVAILABLE' }
    this.#egress = requested
    return undefined
  }

  async boxRead(path: string): Promise<SandboxResult<Uint8Array>> {
    return toResult(async () => {
      const { content } = await this.readFile(path, { encoding: 'base64', sessionId: noSession })
      return Uint8Array.from(atob(content), (char) => char.charCodeAt(0))
    })
  }

  async boxWrite(path: string, bytes: Uint8Array): Promise<SandboxResult<null>> {
    return toResult(async () => {
      await this.writeFile(path, base64Of(bytes), { encoding: 'base64', sessionId: noSession })
      return null
    })
  }

  async boxRestore(): Promise<SandboxResult<boolean>> {
    return toResult(async () => {
      const saved = await this.ctx.storage.get<DirectoryBackup>(savedKey)
      if (!saved) return false
      await this.restoreBackup(saved)
      return true
    })
  }

  async boxDestroy(): Promise<SandboxResult<null>> {
    return toResult(async () => {
      await this.ctx.storage.delete(savedKey)
      await this.destroy()
      return null
    })
  }

  /** Called after idle time. A running job keeps the container awake; otherwise the files are saved before sleep. */
  override async onActivityExpired(): Promise<void> {
    const jobs = await this.boxRun(findRunningJob, 10_000)
    if ('ok' in jobs && jobs.ok.output.includes('running')) return this.renewActivityTimeout()
    await this.#save()
    await super.onActivityExpired()
  }

  /** Saves one copy at a time. Without a bucket files are lost during sleep. */
  async #save(): Promise<void> {
    if (!this.env.BACKUP_BUCKET) return
    this.#saving ??= this.#saveNow().finally(() => (this.#saving = undefined))
    await this.#saving
  }

  async #saveNow(): Promise<void> {
    try {
      const local = this.env.R2_ACCESS_KEY_ID === undefined
      const saved = await this.createBackup({ dir: workspace, ttl: keepSeconds, ...(local && { localBucket: true }) })
      await this.ctx.storage.put(savedKey, saved)
      this.#savedAt = clock.now()
    } catch (error) {
      // The previous copy still exists, and the next one will be attempted.
      log.error('workspace.unsaved', 'The workspace of a container could not be saved.', { error })
    }
  }
}

SandboxBox.outboundHandlers = {
  inject: (request: Request, env: unknown, { params }: { params?: unknown }) =>
    fetch(injectKey(request, params as InjectKeyParams, env as SandboxEnv)),
}

/** Converts errors to values, because errors lose their fields between objects. */
async function toResult<T>(work: () => Promise<T>): Promise<SandboxResult<T>> {
  try {
    return { ok: await work() }
  } catch (error) {
    return { trouble: toFailure(error) }
  }
}

function toFailure(error: unknown): SandboxFailure {
  const { message = String(error), errorResponse } = error as { message?: string; errorResponse?: ErrorBody }
  const { code = 'UNKNOWN', context = {} } = errorResponse ?? {}
  const { admitted, retryable, retryAfterMs, reason } = context
  return { code, message: reason ? `${message} (${reason})` : message, admitted, retryable, retryAfterMs }
}

type ErrorBody = {
  readonly code?: string
  readonly context?: {
    readonly admitted?: boolean
    readonly retryable?: boolean
    readonly retryAfterMs?: number
    readonly reason?: string
  }
}

function base64Of(bytes: Uint8Array): string {
  let text = ''
  for (let from = 0; from < bytes.length; from += 0x8000)
    text += String.fromCharCode(...bytes.subarray(from, from + 0x8000))
  return btoa(text)
}

/** The methods of the object under the names of the port. */
export type SandboxStub = {
  readonly boxRun: SandboxPort['run']
  readonly boxRead: SandboxPort['read']
  readonly boxWrite: SandboxPort['write']
  readonly boxRestore: SandboxPort['restore']
  readonly boxDestroy: SandboxPort['destroy']
}
