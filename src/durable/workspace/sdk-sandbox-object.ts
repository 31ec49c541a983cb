/**
 * Wires the Durable Object that owns a container, with version 0.12.10 of the SDK. Only builds with containers include it
 * (src/worker/with-sandbox.ts). It stores what sandbox-object.ts stores, so that a session keeps its files when the API
 * changes.
 */

import { Sandbox } from '@cloudflare/sandbox'
import type { ContainerBox } from '#backends/cloudflare/container-box.ts'
import { injectKey, type InjectKeyParams } from '#backends/cloudflare/egress.ts'
import type { SandboxPort } from '#backends/cloudflare/sandbox-port.ts'
import { sdkContainer, type SdkSandbox } from '#backends/cloudflare/sdk-container.ts'
import type { SaveOutcome } from '#backends/cloudflare/workspace-copies.ts'
import { openBox, openNative, resetOf, type SandboxEnv, type SandboxStub } from './sandbox-object.ts'

/** The name is that of the class of the native API: both are the same objects to the platform. */
export class SandboxBox extends Sandbox<SandboxEnv> implements SandboxStub {
  override sleepAfter = '10m'
  override enableInternet = false
  override interceptHttps = true
  override allowedHosts: string[] = []
  readonly #box: ContainerBox

  constructor(ctx: DurableObjectState<{}>, env: SandboxEnv) {
    super(ctx, env)
    const host = sdkContainer({
      sandbox: this as unknown as SdkSandbox,
      variables: env,
      isRunning: () => ctx.container?.running ?? false,
      reset: resetOf(ctx),
    })
    // The native API reaches a container whose server or network has died.
    this.#box = openBox(ctx, env, { host, rescue: openNative(ctx) })
    // A job may still run from before the network was turned off.
    if (env.SANDBOX_NETWORK === 'off') ctx.waitUntil(this.setAllowedHosts([]))
  }

  boxRun(...given: Parameters<SandboxPort['run']>): ReturnType<SandboxPort['run']> {
    return this.#box.run(...given)
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

  boxSave(): Promise<SaveOutcome> {
    return this.#box.save()
  }

  /** Called after ten minutes without requests. */
  override async onActivityExpired(): Promise<void> {
    if ((await this.#box.rest(true)) === 'awake') return this.renewActivityTimeout()
    await super.onActivityExpired()
  }
}

SandboxBox.outboundHandlers = {
  inject: (request: Request, env: unknown, { params }: { params?: unknown }) =>
    fetch(injectKey(request, params as InjectKeyParams, env as SandboxEnv)),
}
