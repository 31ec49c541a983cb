/**
 * Implements `SandboxPort` on a container. It works around these properties of containers:
 * - output may be cut while a file streams out: scripts write it to a file and print its size first, and what is missing
 *   is fetched again
 * - a container may be paused, replaced or stopped at any time: a script that has not begun runs again, and a container is
 *   destroyed only when it is silent
 * - files are lost during sleep: they are saved before it, and regularly
 */

import type { RestoreOutcome, ScriptResult } from '../host/host-port.ts'
import { inMemory, quote, removeFolders, stateBeside } from '../host/scripts.ts'
import type { ContainerHost } from './container-host.ts'
import {
  createFailure,
  isAtCapacity,
  isPaused,
  isPermanent,
  isSilent,
  toFailure,
  toResult,
} from './container-failure.ts'
import type { Egress } from './egress.ts'
import type { SandboxFailure, SandboxPort, SandboxResult } from './sandbox-port.ts'
import { within } from './within.ts'
import { type ContainerFiles, type CopyOptions, type SaveOutcome, WorkspaceCopies } from './workspace-copies.ts'

export type BoxOptions = Pick<CopyOptions, 'bucket' | 'record' | 'logError' | 'timeoutMs'> & {
  readonly host: ContainerHost
  /** Another way to the same container, for saving it when the first one fails. */
  readonly rescue?: ContainerHost
  readonly now: () => number
  readonly runInBackground: (work: Promise<unknown>) => void
  /** Stores since when the container is idle, because the platform removes idle objects from memory. */
  readonly idle: IdleRecord
  readonly root?: string
  /** The folder of our own files. */
  readonly state?: string
  /** For tests. */
  readonly silenceMs?: number
  readonly retryMs?: number
}

export type IdleRecord = {
  readonly get: () => Promise<number | undefined>
  readonly put: (since: number | undefined) => Promise<unknown>
}

/** A container that answers nothing for this time is replaced. Starts take up to 45 s when many containers start. */
const defaultSilenceMs = 45_000
/** Time before the first retry of a request that did not begin. It doubles. */
const defaultRetryMs = 250
/** Retries take 8 s. */
const maxProbes = 6
/** Additional time for the container API beyond the script's timeout. */
const graceMs = 10_000
/** Time between two copies while the container is used. */
const saveEveryMs = 5 * 60_000
/** Time after the last request until the files are saved. */
const saveAfterMs = 60_000
/** Time after the last request until the container stops. */
const sleepAfterMs = 10 * 60_000
/** Saving that has failed for this time is told. */
const tellUnsavedAfterMs = 10 * 60_000
/** A container whose files cannot be saved stays awake for this time. */
const maxUnsavedMs = 60 * 60_000
/** After this time without an answer, the container is probed before a script: it may have been replaced. */
const probeAfterMs = 10_000
/** With a network it is probed sooner, because a command that was sent to a dead container is not run again. */
const probeAfterWithNetworkMs = 2_000
/** A command that fails later than this has probably begun. */
const rerunWithinMs = 2_000
const maxFetches = 50
/** A file that has had so many sizes while it was read is not read again. */
const maxSizes = 5

export class ContainerBox implements SandboxPort {
  readonly #options: BoxOptions
  readonly #state: string
  readonly #copies: WorkspaceCopies
  #appliedEgress: string | undefined
  /** The last time that the container answered. */
  #reachedAt: number | undefined
  #reaching: Promise<SandboxFailure | undefined> | undefined
  /** Undefined until the container is used through this object. */
  #usedAt: number | undefined
  #savedAt: number
  /** Something has run since the last copy. Undefined when only an earlier object knows. */
  #isChanged: boolean | undefined
  /** The first save in a row that failed. */
  #unsavedSince: number | undefined
  #toldUnsavedAt: number | undefined
  #active = 0
  #stopping: Promise<unknown> | undefined
  /** Set when the object will end in a moment: the answer to every request. */
  #ending: SandboxFailure | undefined
  /** Identifies the container that answered last. */
  #bootId: string | undefined
  /** The last script that was run again because its container had ended. */
  #rerun: string | undefined
  /** Output files that have been read. The next script deletes them. */
  readonly #readFiles = new Set<string>()

  constructor(options: BoxOptions) {
    this.#options = options
    const { root = '/workspace', state = stateBeside(root), host, now } = options
    this.#state = state
    this.#savedAt = now()
    this.#copies = new WorkspaceCopies({ ...options, folders: { state, root }, files: this.#filesOf(host) })
  }

  async run(script: string, timeoutMs: number, egress?: Egress): Promise<SandboxResult<ScriptResult>> {
    const hasNetwork = !egress || egress.hosts.length > 0
    const probeAfter = hasNetwork ? probeAfterWithNetworkMs : probeAfterMs
    const failure = (egress && (await this.#applyEgress(egress))) ?? (await this.#ensureReachable(probeAfter))
    if (failure) return { trouble: failure }
    return this.#use(async () => {
      const ran = await this.#runOnce(script, timeoutMs + graceMs, hasNetwork)
      if (this.#options.now() - this.#savedAt > saveEveryMs) this.#options.runInBackground(this.save())
      const note = await this.#describeUnsaved()
      return note === undefined ? ran : { ...ran, note }
    })
  }

  read(path: string): Promise<SandboxResult<Uint8Array>> {
    return this.#use(() => this.#readWhole(this.#options.host, path))
  }

  write(path: string, bytes: Uint8Array): Promise<SandboxResult<null>> {
    return this.#use(async () => (await this.#options.host.writeFile(path, bytes), null))
  }

  async restore(): Promise<SandboxResult<RestoreOutcome>> {
    const failure = await this.#ensureReachable()
    return failure ? { trouble: failure } : this.#use(() => this.#copies.restore())
  }

  destroy(): Promise<SandboxResult<null>> {
    this.#forgetContainer()
    return toResult(async () => {
      await this.#copies.removeAll()
      await this.#options.host.destroy()
      return null
    })
  }

  /** Saves the workspace, if a container runs that has a prepared one. */
  async save(): Promise<SaveOutcome> {
    const { host, rescue, now } = this.#options
    if (!host.isRunning()) return 'nothing'
    this.#isChanged = false
    let outcome = await this.#copies.save()
    if (outcome === 'failed' && rescue) outcome = await this.#copies.save(this.#filesOf(rescue))
    if (outcome === 'failed') this.#isChanged = true
    this.#unsavedSince = outcome === 'failed' ? (this.#unsavedSince ?? now()) : undefined
    if (outcome !== 'failed') this.#toldUnsavedAt = undefined
    if (outcome === 'saved') this.#savedAt = now()
    return outcome
  }

  /**
   * Decides whether the container stays awake. Called at regular times, or when the platform says that it is idle. While
   * something runs it stays awake; before sleep its files are saved, and it does not sleep while they cannot be.
   */
  async rest(isExpired = false): Promise<'awake' | 'asleep'> {
    const { host } = this.#options
    if (!host.isRunning()) return 'asleep'
    const isNeeded = this.#active > 0 || (await this.#hasRunningJob())
    if (isNeeded) this.#isChanged = true
    const idleMs = isExpired ? sleepAfterMs : await this.#measureIdle()
    const isIdle = idleMs >= sleepAfterMs
    if (!isNeeded && (await this.#saveAtRest(idleMs)) && isIdle && this.#active === 0) return 'asleep'
    await host.keepAwake?.()
    return 'awake'
  }

  async #measureIdle(): Promise<number> {
    const { now, idle } = this.#options
    if (this.#usedAt !== undefined) return now() - this.#usedAt
    const since = await idle.get()
    if (since === undefined) await idle.put(now())
    return now() - (since ?? now())
  }

  /** False when the files could not be saved, which is tried again for some time. */
  async #saveAtRest(idleMs: number): Promise<boolean> {
    const { now } = this.#options
    if (idleMs < saveAfterMs || !(this.#isChanged ??= await this.#copies.areOld())) return true
    const outcome = await this.save()
    return outcome !== 'failed' || now() - (this.#unsavedSince ?? now()) >= maxUnsavedMs
  }

  /** Returns a note when saving has failed for some time. It is repeated after the same time. */
  async #describeUnsaved(): Promise<string | undefined> {
    const now = this.#options.now()
    const since = Math.max(this.#unsavedSince ?? now, this.#toldUnsavedAt ?? 0)
    if (now - since < tellUnsavedAfterMs) return undefined
    this.#toldUnsavedAt = now
    const at = await this.#copies.savedAt().catch(() => undefined)
    const state = at === undefined ? 'has never been saved' : `has not been saved since ${new Date(at).toISOString()}`
    return `[The workspace ${state}, because saving fails. When the container ends, later changes are lost. Is there enough space?]`
  }

  /** Stops the container until the next request, which waits for the stop. */
  async stop(): Promise<void> {
    this.#forgetContainer()
    this.#stopping = toResult(() => this.#options.host.destroy()).finally(() => (this.#stopping = undefined))
    await this.#stopping
  }

  /** Whether one of our jobs runs. */
  async #hasRunningJob(): Promise<boolean> {
    const found = await toResult(() => this.#filesOf(this.#options.host).run(findRunningJob(this.#state), graceMs))
    return 'ok' in found && found.ok.output.includes('running')
  }

  /** Applies the rules, or returns the failure, in which case nothing has started. */
  async #applyEgress(egress: Egress): Promise<SandboxFailure | undefined> {
    const requested = JSON.stringify(egress)
    if (requested === this.#appliedEgress) return undefined
    const applied = await toResult(() => this.#options.host.applyEgress(egress))
    if ('trouble' in applied) return notStarted(applied.trouble)
    this.#appliedEgress = requested
    return undefined
  }

  /** Starts the container, and waits for one that is paused or was just replaced. */
  async #ensureReachable(probeAfter = probeAfterMs): Promise<SandboxFailure | undefined> {
    const { now, host } = this.#options
    await this.#stopping
    if (this.#ending) return this.#ending
    const isKnown = this.#reachedAt !== undefined && now() - this.#reachedAt < probeAfter && host.isRunning()
    if (isKnown) return undefined
    return (this.#reaching ??= this.#reach().finally(() => (this.#reaching = undefined)))
  }

  async #reach(): Promise<SandboxFailure | undefined> {
    const { host, retryMs = defaultRetryMs, silenceMs = defaultSilenceMs } = this.#options
    const deadline = performance.now() + silenceMs
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#probe()
      if (!failure) return undefined
      if (isPermanent(failure)) return notStarted(failure)
      const isLast = isPaused(failure) ? performance.now() >= deadline : isSilent(failure) || attempt === maxProbes
      if (isLast) return host.isRunning() || isSilent(failure) ? this.#giveUp(failure) : this.#restart(failure)
      await new Promise((resolve) => setTimeout(resolve, retryMs * 2 ** Math.min(attempt - 1, maxProbes - 2)))
    }
  }

  /** A container that answers with an error stays. */
  async #giveUp(failure: SandboxFailure): Promise<SandboxFailure | undefined> {
    const isGone = isSilent(failure) || isPaused(failure) || isUnreachable(failure)
    return isGone ? this.#replace(failure) : { ...notStarted(failure), retryable: false }
  }

  async #probe(): Promise<SandboxFailure | undefined> {
    const { host, silenceMs = defaultSilenceMs } = this.#options
    const result = await toResult(() => within(host.exec(':', silenceMs), silenceMs, 'The container'))
    if ('trouble' in result) return result.trouble
    this.#reachedAt = this.#options.now()
    return undefined
  }

  /** Replaces a container that cannot be reached, after an attempt to save it on another way. */
  async #replace(failure: SandboxFailure): Promise<SandboxFailure | undefined> {
    const { host, rescue, logError, silenceMs = defaultSilenceMs } = this.#options
    logError('container.replaced', 'A container that could not be reached is replaced.', new Error(failure.message))
    if (rescue && host.isRunning() && (await this.#answers(rescue))) await this.#copies.save(this.#filesOf(rescue))
    this.#forgetContainer()
    await toResult(() => within(host.destroy(), silenceMs, 'Stopping the container'))
    const again = await this.#probe()
    return again && notStarted(again)
  }

  async #answers(host: ContainerHost): Promise<boolean> {
    const { silenceMs = defaultSilenceMs } = this.#options
    return 'ok' in (await toResult(() => within(host.exec(':', silenceMs), silenceMs, 'The container')))
  }

  /** A container that does not start holds no files. A new connection finds what the platform has lost track of. */
  async #restart(failure: SandboxFailure): Promise<SandboxFailure> {
    const { host } = this.#options
    if (isAtCapacity(failure)) return notStarted(failure)
    this.#forgetContainer()
    await toResult(() => host.destroy())
    const ended = { ...notStarted(failure), retryable: true, retryAfterMs: 2_000 }
    // Nothing may run in an object that ends: its outcome would be unknown.
    if (host.reset && this.#active === 0) {
      this.#ending = ended
      host.reset()
    }
    return ended
  }

  #forgetContainer(): void {
    this.#reachedAt = undefined
    this.#bootId = undefined
  }

  /**
   * Runs a script. When its answer is lost while the container runs, it is run again if it has not begun, otherwise its
   * result is read when it has ended. When the container has ended, it is run again if nothing that it did can be left.
   */
  async #runOnce(script: string, timeoutMs: number, hasNetwork: boolean): Promise<ScriptResult> {
    const { host, now } = this.#options
    const [bootId, file, begunAt, copies] = [this.#bootId, this.#newFile(), now(), this.#copies.begun]
    const deadline = begunAt + timeoutMs
    try {
      return await this.#runWhole(host, { file, script, timeoutMs })
    } catch (error) {
      this.#reachedAt = undefined
      const begun = { script, copies, isRecent: now() - begunAt < rerunWithinMs }
      if (!hasNetwork && this.#leftNothing(error, begun) && !(await this.#ensureReachable()))
        return this.#runWhole(host, { script, timeoutMs })
      const found = bootId === undefined ? 'unknown' : await this.#claim(file, bootId)
      if (found === 'claimed') return this.#runWhole(host, { script, timeoutMs })
      const result = found === 'begun' ? await this.#waitForEnd(file, deadline) : undefined
      if (result) return result
      throw error
    }
  }

  /** Whether the container has ended, and no copy can have what the script changed. True once for each script. */
  #leftNothing(
    error: unknown,
    { script, copies, isRecent }: { script: string; copies: number | undefined; isRecent: boolean },
  ): boolean {
    const isCopied = copies === undefined || copies !== this.#copies.begun
    if (isCopied || !isRecent || !toFailure(error).hasEnded || this.#rerun === script) return false
    this.#rerun = script
    return true
  }

  /** Takes the place of a script that has not begun, so that it cannot begin any more. */
  async #claim(file: string, bootId: string): Promise<'claimed' | 'begun' | 'unknown'> {
    if (await this.#ensureReachable()) return 'unknown'
    const found = await toResult(() => this.#options.host.exec(claimScript(this.#state, file, bootId), graceMs))
    const word = 'ok' in found ? found.ok.stdout.trim() : ''
    return word === 'claimed' || word === 'begun' ? word : 'unknown'
  }

  async #waitForEnd(file: string, deadline: number): Promise<ScriptResult | undefined> {
    const { host, now } = this.#options
    while (now() < deadline) {
      const shown = await toResult(() => host.exec(waitForEnd(this.#state, file), graceMs))
      const piece = 'ok' in shown ? parsePiece(shown.ok.stdout) : undefined
      if (!piece) return undefined
      if (piece.code === null) continue
      const { text } = await this.#complete(host, file, piece)
      this.#readFiles.add(file)
      return { code: piece.code, output: text }
    }
    return undefined
  }

  #newFile(): string {
    return `${this.#state}/o-${crypto.randomUUID()}`
  }

  /** Runs a script whose output goes to a file, and reads it until it is complete. */
  async #runWhole(
    host: ContainerHost,
    { file = this.#newFile(), script, timeoutMs }: { file?: string; script: string; timeoutMs: number },
  ): Promise<ScriptResult> {
    const obsolete = [...this.#readFiles]
    const { stdout } = await host.exec(runToFile({ state: this.#state, file, script, obsolete }), timeoutMs)
    for (const path of obsolete) this.#readFiles.delete(path)
    const { code, text, bootId } = await this.#complete(host, file, parsePiece(stdout)).catch(rejectAsBegun)
    this.#bootId = bootId
    this.#readFiles.add(file)
    return { code, output: text }
  }

  async #complete(host: ContainerHost, file: string, first: Piece | undefined): Promise<Piece> {
    let whole = first
    for (let fetches = 0; !whole || byteLength(whole.text) < whole.size; fetches++) {
      if (fetches === maxFetches || (!host.isRunning() && fetches > 0))
        throw createFailure('CUT', 'The output of the container arrives incomplete.')
      const { stdout } = await host.exec(printFrom(this.#state, file, whole ? byteLength(whole.text) : 0), graceMs)
      if (stdout === 'gone\n')
        throw createFailure(
          'OPERATION_INTERRUPTED',
          'The record of the command is missing: the container was replaced, or something removes records, or keeps them from being written.',
        )
      const piece = parsePiece(stdout)
      if (piece) whole = { ...piece, text: (whole?.text ?? '') + piece.text }
    }
    return whole
  }

  async #readWhole(host: ContainerHost, path: string): Promise<Uint8Array> {
    const sizes = new Set<number>()
    for (let attempt = 1; ; attempt++) {
      const { bytes, size } = await host.readFile(path)
      // It has grown meanwhile.
      if (bytes.byteLength >= size) return bytes.subarray(0, size)
      if (sizes.add(size).size === maxSizes) throw createFailure('FILE_CHANGED', path)
      if (attempt === maxFetches) throw createFailure('CUT', `Only ${bytes.byteLength} of ${size} bytes arrived.`)
    }
  }

  /** Never starts a container: what it works on would be gone. */
  #filesOf(host: ContainerHost): ContainerFiles {
    const running = () => {
      if (!host.isRunning()) throw createFailure('OPERATION_INTERRUPTED', 'The container does not run any more.')
      return host
    }
    return {
      run: async (script, timeoutMs) => this.#runWhole(running(), { script, timeoutMs: timeoutMs + graceMs }),
      read: async (path) => this.#readWhole(running(), path),
      write: async (path, bytes) => running().writeFile(path, bytes),
    }
  }

  async #use<T>(work: () => Promise<T>): Promise<SandboxResult<T>> {
    const { now, idle } = this.#options
    this.#active++
    if (this.#usedAt === undefined) await idle.put(undefined)
    this.#isChanged = true
    this.#usedAt = now()
    const result = await toResult(work).finally(() => this.#active--)
    this.#isChanged = true
    this.#usedAt = now()
    this.#reachedAt = 'ok' in result ? now() : undefined
    return result
  }
}

/** The script was sent: what fails after it says nothing about whether it has begun. */
function rejectAsBegun(error: unknown): never {
  const { code, message } = toFailure(error)
  throw code === 'CONTAINER_UNAVAILABLE' ? createFailure('OPERATION_INTERRUPTED', message) : error
}

const byteLength = (text: string): number => new TextEncoder().encode(text).byteLength

/** Nothing of the script has run: it may run again when the container is there. */
const notStarted = (failure: SandboxFailure): SandboxFailure => ({
  ...failure,
  code: 'CONTAINER_UNAVAILABLE',
  admitted: false,
  retryable: isPermanent(failure) ? false : failure.retryable,
})

/** The connection failed. An error that the container itself answered is none. */
const isUnreachable = ({ code }: SandboxFailure): boolean =>
  ['CONTAINER_UNAVAILABLE', 'RPC_TRANSPORT_ERROR', 'OPERATION_INTERRUPTED'].includes(code)

// Builds the scripts that run another script with its output in a file. The file is printed behind a header: its
// size, the exit code, and the id of the container. What is cut on the way is printed again.

/** Exit code of a script whose place was taken (`claimScript`). */
const claimedCode = 89

type RunOptions = {
  readonly state: string
  readonly file: string
  readonly script: string
  /** Files of earlier scripts to delete. */
  readonly obsolete: readonly string[]
}

/**
 * Begins with creating a folder, which only one of the script and `claimScript` can do. It is in memory where that is possible,
 * so that the command that fills the disk, and the one that frees it, have a result. Starts in a folder that exists.
 */
function runToFile({ state, file, script, obsolete }: RunOptions): string {
  const cleanUp = obsolete.length ? `${removeFolders(obsolete)}\n` : ''
  return `cd /; ${cleanUp}${inMemory}F=${quote(file)}; [ -d ${quote(state)} ] || { rm -f ${quote(state)}; mkdir -p -m 700 ${quote(state)}; }
inMemory "$F" || mkdir "$F" || exit ${claimedCode}
(
${script}
) > "$F/out"
echo $? > "$F/code"
${printFrom(state, file, 0)}`
}

/**
 * Prints `claimed` when a script has not begun in this container, and prevents it from beginning later; `begun` when it has.
 * Prints nothing in another container.
 */
const claimScript = (state: string, file: string, bootId: string): string =>
  `[ "$(cat ${quote(state)}/boot 2>/dev/null)" = ${quote(bootId)} ] || exit 0
if mkdir ${quote(file)} 2>/dev/null; then echo claimed; elif [ -e ${quote(`${file}/out`)} ]; then echo begun; fi`

/** Waits for the end of a script for a second, then prints its output. */
const waitForEnd = (state: string, file: string): string =>
  `for i in 1 2 3 4 5 6 7 8 9 10; do [ -s ${quote(`${file}/code`)} ] && break; sleep 0.1; done
${printFrom(state, file, 0)}`

/** Prints the header and the bytes behind the first ones, or `gone` in a container that has not run the script. */
const printFrom = (state: string, file: string, skipped: number): string =>
  `F=${quote(file)}; [ -e "$F/out" ] || { echo gone; exit 0; }
c=; b=; { read -r c < "$F/code"; read -r b < ${quote(state)}/boot; } 2>/dev/null
echo "$(stat -c %s "$F/out") \${c:--} \${b:--}"; tail -c +${skipped + 1} "$F/out"`

type Piece = {
  readonly size: number
  /** Null: the script has not ended by itself. */
  readonly code: number | null
  readonly bootId: string | undefined
  readonly text: string
}

/** Undefined when the header is cut. A cut inside of a character leaves a replacement character, which is fetched again. */
function parsePiece(stdout: string): Piece | undefined {
  const end = stdout.indexOf('\n')
  const [, size, code, bootId] = /^(\d+) (\d+|-) (\S+)$/.exec(stdout.slice(0, Math.max(0, end))) ?? []
  if (size === undefined) return undefined
  return {
    size: Number(size),
    code: code === '-' ? null : Number(code),
    bootId: bootId === '-' ? undefined : bootId,
    text: stdout.slice(end + 1).replace(/\uFFFD+$/, ''),
  }
}

/** Removes the output of scripts that have ended, and whose object has ended before the next script could remove it. */
const removeEnded = (
  state: string,
): string => `find ${quote(state)} -maxdepth 1 -name 'o-*' -mmin +10 2>/dev/null | while read -r f; do
  [ -e "$f/code" ] || [ ! -e "$f" ] || continue
  [ ! -L "$f" ] || rm -rf "$(readlink "$f")"; rm -rf "$f"
done`

/** Prints `running` while a job runs that has no exit code yet. Called at regular times. */
const findRunningJob = (state: string): string => `${removeEnded(state)}
for d in ${quote(state)}/j-*; do
  [ -e "$d/exit" ] && continue
  grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$(cat "$d/pid" 2>/dev/null)/status" 2>/dev/null && { echo running; exit 0; }
done; echo none`
