/**
 * Wires the Durable Object that owns a container. Only builds with containers include it (src/worker/with-sandbox.ts).
 * `SANDBOX_CONTAINER_API` chooses the adapter: `sdk` (version 0.12.10, the default) or `native` (ctx.container).
 */

import { log } from '#agent/core/log.ts'
import { Sandbox } from '@cloudflare/sandbox'
import { ContainerBox } from '#backends/cloudflare/container-box.ts'
import type { ContainerHost, WorkspaceCopy } from '#backends/cloudflare/container-host.ts'
import { type Egress, type EgressVariables, injectKey, type InjectKeyParams } from '#backends/cloudflare/egress.ts'
import { type NativeContainer, nativeContainer } from '#backends/cloudflare/native-container.ts'
import type { SandboxPort } from '#backends/cloudflare/sandbox-port.ts'
import { sdkContainer, type SdkSandbox } from '#backends/cloudflare/sdk-container.ts'
import { clock } from '#durable/platform/clock.ts'

const copyKey = 'talaria:saved'
const inactivityMs = 10 * 60_000
/** The native API stops an idle container without a notice: its workspace is saved after this time. */
const saveAfterSeconds = 60

type SandboxEnv = Env & EgressVariables & { readonly BACKUP_BUCKET?: R2Bucket; readonly SANDBOX_CONTAINER_API?: string }

export class SandboxBox extends Sandbox<SandboxEnv> {
  override sleepAfter = '10m'
  override enableInternet = false
  override interceptHttps = true
  override allowedHosts: string[] = []
  readonly #box: ContainerBox
  #isSaveScheduled = false

  constructor(ctx: DurableObjectState<{}>, env: SandboxEnv) {
    super(ctx, env)
    this.#box = new ContainerBox({
      host: this.#isNative ? this.#openNative() : this.#openSdk(),
      record: {
        get: () => ctx.storage.get<WorkspaceCopy>(copyKey),
        put: async (copy) => void (copy ? await ctx.storage.put(copyKey, copy) : await ctx.storage.delete(copyKey)),
      },
      now: clock.now,
      runInBackground: (work) => ctx.waitUntil(work),
      logError: (event, message, error) => log.error(event, message, { error }),
    })
    // A job may still run from before the network was turned off.
    if (env.SANDBOX_NETWORK === 'off') ctx.waitUntil(this.setAllowedHosts([]))
  }

  async boxRun(...given: Parameters<SandboxPort['run']>): ReturnType<SandboxPort['run']> {
    const result = await this.#box.run(...given)
    if (this.#isNative && !this.#isSaveScheduled) {
      this.#isSaveScheduled = true
      await this.schedule(saveAfterSeconds, 'boxSave')
    }
    return result
  }

  boxRead(path: string): ReturnType<SandboxPort['read']> {
    return this.#box.read(path)
  }

  boxWrite(path: string, bytes: Uint8Array): ReturnType<SandboxPort['write']> {
    return this.#box.write(path, bytes)
  }

  boxRestore(): ReturnType<SandboxPort['restore']> {
    return this.#box.restore()
  }

  boxDestroy(): ReturnType<SandboxPort['destroy']> {
    return this.#box.destroy()
  }

  /** Called by the schedule of the native API. */
  async boxSave(): Promise<void> {
    this.#isSaveScheduled = false
    if (this.ctx.container?.running) await this.#box.save()
  }

  /** Called after idle time. A running job keeps the container awake; otherwise the files are saved before sleep. */
  override async onActivityExpired(): Promise<void> {
    if (this.ctx.container?.running) {
      if (await this.#box.hasRunningJob()) return this.renewActivityTimeout()
      await this.#box.save()
    }
    await super.onActivityExpired()
  }

  get #isNative(): boolean {
    return this.env.SANDBOX_CONTAINER_API === 'native'
  }

  #openSdk(): ContainerHost {
    return sdkContainer({
      sandbox: this as unknown as SdkSandbox,
      variables: this.env,
      bucket: this.env.BACKUP_BUCKET,
      abandonCopy: () => void Object.assign(this, { backupInProgress: Promise.resolve() }),
    })
  }

  #openNative(): ContainerHost {
    const { container, exports } = this.ctx
    return nativeContainer({
      container: container as unknown as NativeContainer | undefined,
      openEgress: (egress) =>
        (exports as unknown as EgressExports).ContainerEgress({ props: { egress } satisfies EgressProps }),
      inactivityMs,
    })
  }
}

export type EgressProps = { readonly egress: Egress }
type EgressExports = { readonly ContainerEgress: (options: { readonly props: EgressProps }) => Fetcher }

SandboxBox.outboundHandlers = {
  inject: (request: Request, env: unknown, { params }: { params?: unknown }) =>
    fetch(injectKey(request, params as InjectKeyParams, env as SandboxEnv)),
}

/** The methods of the object under the names of the port. */
export type SandboxStub = {
  readonly boxRun: SandboxPort['run']
  readonly boxRead: SandboxPort['read']
  readonly boxWrite: SandboxPort['write']
  readonly boxRestore: SandboxPort['restore']
  readonly boxDestroy: SandboxPort['destroy']
}
