/**
 * Implements `SandboxPort` on a container. It works around these properties of containers:
 * - output may be cut while a file streams out: scripts write it to a file and print its size first, and what is missing
 *   is fetched again
 * - a container may be unreachable: one in which nothing has begun is destroyed once, and the script is tried again
 * - files are lost during sleep: they are saved before it, and regularly
 */

import type { ScriptResult } from '../host/host-port.ts'
import { quote } from '../host/scripts.ts'
import type { ContainerHost } from './container-host.ts'
import type { Egress } from './egress.ts'
import type { SandboxFailure, SandboxPort, SandboxResult } from './sandbox-port.ts'
import { within } from './within.ts'
import { type CopyOptions, WorkspaceCopies } from './workspace-copies.ts'

export type BoxOptions = Omit<CopyOptions, 'port' | 'readBootId'> & {
  readonly host: ContainerHost
  readonly now: () => number
  readonly runInBackground: (work: Promise<unknown>) => void
  /** The folder of our own files. Tests use another one. */
  readonly state?: string
  readonly startTimeoutMs?: number
}

const defaultStartTimeoutMs = 30_000
/** Additional time for the container API beyond the script's timeout. */
const graceMs = 10_000
/** Time between two copies while the container is used. */
const saveEveryMs = 5 * 60_000
/** After this time without a request, the container is probed before a script: it may have been replaced. */
const probeAfterMs = 60_000
const maxFetches = 50

export class ContainerBox implements SandboxPort {
  readonly #options: BoxOptions
  readonly #state: string
  readonly #copies: WorkspaceCopies
  #appliedEgress: string | undefined
  /** The last time that the container answered. */
  #reachedAt: number | undefined
  #reaching: Promise<SandboxFailure | undefined> | undefined
  #savedAt: number
  /** Output files that have been read. The next script deletes them. */
  readonly #readFiles = new Set<string>()

  constructor(options: BoxOptions) {
    this.#options = options
    this.#state = options.state ?? '/tmp/.talaria'
    this.#savedAt = options.now()
    this.#copies = new WorkspaceCopies({ ...options, port: options.host.copies, readBootId: () => this.#readBootId() })
  }

  async run(script: string, timeoutMs: number, egress?: Egress): Promise<SandboxResult<ScriptResult>> {
    const failure = (egress && (await this.#applyEgress(egress))) ?? (await this.#ensureReachable())
    if (failure) return { trouble: failure }
    return this.#watched(async () => {
      const ran = await this.#runWhole(script, timeoutMs + graceMs)
      if (this.#options.now() - this.#savedAt > saveEveryMs) this.#options.runInBackground(this.save())
      return ran
    })
  }

  read(path: string): Promise<SandboxResult<Uint8Array>> {
    return this.#watched(async () => {
      for (let attempt = 1; ; attempt++) {
        const { bytes, size } = await this.#options.host.readFile(path)
        if (bytes.byteLength === size) return bytes
        if (attempt === maxFetches) throw createFailure('CUT', `Only ${bytes.byteLength} of ${size} bytes arrived.`)
      }
    })
  }

  write(path: string, bytes: Uint8Array): Promise<SandboxResult<null>> {
    return this.#watched(async () => (await this.#options.host.writeFile(path, bytes), null))
  }

  restore(): Promise<SandboxResult<boolean>> {
    return this.#watched(() => this.#copies.restore())
  }

  destroy(): Promise<SandboxResult<null>> {
    this.#reachedAt = undefined
    return toResult(async () => {
      await this.#copies.removeAll()
      await this.#options.host.destroy()
      return null
    })
  }

  /** Saves the workspace, if the container has a prepared one. */
  async save(): Promise<void> {
    if (await this.#copies.save()) this.#savedAt = this.#options.now()
  }

  /** Whether one of our jobs runs. */
  async hasRunningJob(): Promise<boolean> {
    const found = await toResult(() => this.#runWhole(findRunningJob(this.#state), graceMs))
    return 'ok' in found && found.ok.output.includes('running')
  }

  /** Applies the rules, or returns the failure, in which case nothing has started. */
  async #applyEgress(egress: Egress): Promise<SandboxFailure | undefined> {
    const requested = JSON.stringify(egress)
    if (requested === this.#appliedEgress) return undefined
    const applied = await toResult(() => this.#options.host.applyEgress(egress))
    if ('trouble' in applied) return { ...applied.trouble, code: 'CONTAINER_UNAVAILABLE', admitted: false }
    this.#appliedEgress = requested
    return undefined
  }

  /** Starts the container within a time limit of its own. One that does not answer is destroyed once. */
  async #ensureReachable(): Promise<SandboxFailure | undefined> {
    const { now } = this.#options
    if (this.#reachedAt !== undefined && now() - this.#reachedAt < probeAfterMs) return undefined
    return (this.#reaching ??= this.#reach().finally(() => (this.#reaching = undefined)))
  }

  async #reach(): Promise<SandboxFailure | undefined> {
    const { host } = this.#options
    const first = await this.#probe()
    if (!first || first.retryable || isPermanent(first)) return first
    await toResult(() => within(host.destroy(), this.#startTimeoutMs, 'Stopping the container'))
    return this.#probe()
  }

  async #probe(): Promise<SandboxFailure | undefined> {
    const result = await this.#watched(() =>
      within(this.#options.host.exec(':', this.#startTimeoutMs), this.#startTimeoutMs, 'The start of the container'),
    )
    if ('ok' in result) return undefined
    const isStarting = /container_starting/.test(result.trouble.message)
    return { ...result.trouble, code: 'CONTAINER_UNAVAILABLE', admitted: false, retryable: isStarting }
  }

  get #startTimeoutMs(): number {
    return this.#options.startTimeoutMs ?? defaultStartTimeoutMs
  }

  /** Runs a script whose output goes to a file, and reads it until it is complete. */
  async #runWhole(script: string, timeoutMs: number): Promise<ScriptResult> {
    const { host } = this.#options
    const file = `${this.#state}/o-${crypto.randomUUID()}`
    const obsolete = [...this.#readFiles]
    const cleanUp = obsolete.length ? `rm -f ${obsolete.map(quote).join(' ')}\n` : ''
    const whole = `${cleanUp}mkdir -p -m 700 ${quote(this.#state)}\n(\n${script}\n) > ${quote(file)}\nc=$?\n${printFrom(file, 0)}\nexit $c`
    const { exitCode, stdout } = await host.exec(whole, timeoutMs)
    for (const path of obsolete) this.#readFiles.delete(path)
    const output = await this.#complete(file, parsePiece(stdout))
    this.#readFiles.add(file)
    return { code: exitCode, output }
  }

  async #complete(file: string, first: Piece): Promise<string> {
    let { size, text } = first
    for (let fetches = 0; size === undefined || byteLength(text) < size; fetches++) {
      if (fetches === maxFetches) throw createFailure('CUT', 'The output of the container arrives incomplete.')
      const { stdout } = await this.#options.host.exec(printFrom(file, byteLength(text)), graceMs)
      const piece = parsePiece(stdout)
      size ??= piece.size
      text += piece.text
    }
    return text
  }

  async #readBootId(): Promise<string | undefined> {
    const read = await toResult(() => this.#runWhole(`cat ${quote(`${this.#state}/boot`)} 2>/dev/null`, graceMs))
    return 'ok' in read ? read.ok.output.trim() || undefined : undefined
  }

  async #watched<T>(work: () => Promise<T>): Promise<SandboxResult<T>> {
    const result = await toResult(work)
    this.#reachedAt = 'ok' in result ? this.#options.now() : undefined
    return result
  }
}

/** Prints `running` while a job runs that has no exit code yet. */
const findRunningJob = (state: string): string => `for d in ${quote(state)}/j-*; do
  [ -e "$d/exit" ] && continue
  grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$(cat "$d/pid" 2>/dev/null)/status" 2>/dev/null && { echo running; exit 0; }
done; echo none`

/** Prints the size of a file on a line, then its bytes behind the first ones. */
const printFrom = (file: string, skipped: number): string =>
  `stat -c %s ${quote(file)}; tail -c +${skipped + 1} ${quote(file)}`

type Piece = { readonly size: number | undefined; readonly text: string }

/** A cut inside of a character leaves a replacement character, which is fetched again. */
function parsePiece(stdout: string): Piece {
  const end = stdout.indexOf('\n')
  if (end < 0) return { size: undefined, text: '' }
  return { size: Number(stdout.slice(0, end)), text: stdout.slice(end + 1).replace(/\uFFFD+$/, '') }
}

const byteLength = (text: string): number => new TextEncoder().encode(text).byteLength

const createFailure = (code: string, message: string): Error =>
  Object.assign(new Error(message), { errorResponse: { code, context: { admitted: true, retryable: true } } })

/** Destroying a container does not help where there are none, or no more. */
const isPermanent = ({ message }: SandboxFailure): boolean =>
  /not been enabled|no container|max_container_instances_exceeded/i.test(message)

/** Converts errors to values, because errors lose their fields between objects. */
async function toResult<T>(work: () => Promise<T>): Promise<SandboxResult<T>> {
  try {
    return { ok: await work() }
  } catch (error) {
    return { trouble: toFailure(error) }
  }
}

type ErrorBody = {
  readonly code?: string
  readonly context?: Pick<SandboxFailure, 'admitted' | 'retryable' | 'retryAfterMs'> & { readonly reason?: string }
}

function toFailure(error: unknown): SandboxFailure {
  const { message = String(error), errorResponse } = error as { message?: string; errorResponse?: ErrorBody }
  const { code = 'UNKNOWN', context = {} } = errorResponse ?? {}
  const { admitted, retryable, retryAfterMs, reason } = context
  return { code, message: reason ? `${message} (${reason})` : message, admitted, retryable, retryAfterMs }
}
