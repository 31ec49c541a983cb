/**
 * Wires the Durable Object that owns a container, with the native API. Only builds with containers include it
 * (src/worker/with-native-sandbox.ts). src/worker/with-sandbox.ts has the same object with version 0.x of the SDK.
 */

import { DurableObject } from 'cloudflare:workers'
import { log } from '#agent/core/log.ts'
import { ContainerBox } from '#backends/cloudflare/container-box.ts'
import { resetMessage } from '#backends/cloudflare/container-failure.ts'
import type { ContainerHost } from '#backends/cloudflare/container-host.ts'
import type { Egress, EgressVariables } from '#backends/cloudflare/egress.ts'
import { type NativeContainer, nativeContainer } from '#backends/cloudflare/native-container.ts'
import type { SandboxPort } from '#backends/cloudflare/sandbox-port.ts'
import type { SaveOutcome, StoredCopies } from '#backends/cloudflare/workspace-copies.ts'
import { clock } from '#durable/platform/clock.ts'

const copyKey = 'talaria:saved'
const idleKey = 'talaria:idle'
/** Only as a limit for an object that has crashed: the alarm renews it, and stops the container after ten idle minutes. */
const inactivityMs = 10 * 60_000
/** Time between two decisions about sleep. */
const restEveryMs = 30_000
/** Time for an answer to leave before the object ends. */
const resetAfterMs = 100

export type SandboxEnv = Env & EgressVariables & { readonly BACKUP_BUCKET?: R2Bucket }

export class SandboxBox extends DurableObject<SandboxEnv> implements SandboxStub {
  readonly #box: ContainerBox

  constructor(ctx: DurableObjectState<{}>, env: SandboxEnv) {
    super(ctx, env)
    const host = openNative(ctx)
    this.#box = openBox(ctx, env, { host })
    // A job may still run from before the network was turned off.
    if (env.SANDBOX_NETWORK === 'off' && host.isRunning())
      ctx.waitUntil(host.applyEgress({ tenant: '', hosts: [] }).catch(() => undefined))
  }

  boxRun(...given: Parameters<SandboxPort['run']>): ReturnType<SandboxPort['run']> {
    return this.#used(this.#box.run(...given))
  }

  boxRead(path: string): ReturnType<SandboxPort['read']> {
    return this.#used(this.#box.read(path))
  }

  boxWrite(path: string, bytes: Uint8Array): ReturnType<SandboxPort['write']> {
    return this.#used(this.#box.write(path, bytes))
  }

  boxRestore(): ReturnType<SandboxPort['restore']> {
    return this.#used(this.#box.restore())
  }

  boxDestroy(): ReturnType<SandboxPort['destroy']> {
    return this.#box.destroy()
  }

  boxSave(): Promise<SaveOutcome> {
    return this.#box.save()
  }

  override async alarm(): Promise<void> {
    if ((await this.#box.rest()) === 'asleep') return this.#box.stop()
    await this.ctx.storage.setAlarm(clock.now() + restEveryMs)
  }

  /** Sets the alarm before the work ends, because a job may keep the container busy. */
  async #used<T>(work: Promise<T>): Promise<T> {
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(clock.now() + restEveryMs)
    return work
  }
}

type BoxParts = { readonly host: ContainerHost; readonly rescue?: ContainerHost }

/** Opens the box of an object. Every API keeps its record and its copies in the same place. */
export function openBox(ctx: DurableObjectState<{}>, env: SandboxEnv, parts: BoxParts): ContainerBox {
  return new ContainerBox({
    ...parts,
    bucket: env.BACKUP_BUCKET,
    record: {
      get: () => ctx.storage.get(copyKey),
      put: (copies: StoredCopies) => ctx.storage.put(copyKey, copies),
    },
    idle: {
      get: () => ctx.storage.get<number>(idleKey),
      put: (since) => (since === undefined ? ctx.storage.delete(idleKey) : ctx.storage.put(idleKey, since)),
    },
    now: clock.now,
    runInBackground: (work) => ctx.waitUntil(work),
    logError: (event, message, error) => log.error(event, message, { error }),
  })
}

export function openNative(ctx: DurableObjectState<{}>): ContainerHost {
  const { container, exports } = ctx
  return nativeContainer({
    container: container as unknown as NativeContainer | undefined,
    openEgress: (egress) =>
      (exports as unknown as EgressExports).ContainerEgress({ props: { egress } satisfies EgressProps }),
    inactivityMs,
    reset: resetOf(ctx),
  })
}

/** Ends the object: the next request opens a new one, whose connection to the platform is new. */
export const resetOf = (ctx: DurableObjectState<{}>) => (): void =>
  void setTimeout(() => ctx.abort(resetMessage), resetAfterMs)

export type EgressProps = { readonly egress: Egress }
type EgressExports = { readonly ContainerEgress: (options: { readonly props: EgressProps }) => Fetcher }

/** The methods of the object under the names of the port. */
export type SandboxStub = {
  readonly boxRun: SandboxPort['run']
  readonly boxRead: SandboxPort['read']
  readonly boxWrite: SandboxPort['write']
  readonly boxRestore: SandboxPort['restore']
  readonly boxDestroy: SandboxPort['destroy']
  /** Called before the local server stops. */
  readonly boxSave: () => Promise<SaveOutcome>
}
