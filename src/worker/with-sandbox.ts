/**
 * Entry of the worker for deployments whose containers use version 0.12.10 of the SDK. Only this file uses the SDK: an adapter
 * from its methods to `ContainerHost`, and the object that owns a container. The object stores what that of the native API
 * stores, so that a session keeps its files when the API changes.
 */

import { ContainerProxy, Sandbox } from '@cloudflare/sandbox'
import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import type { ContainerBox } from '#backends/cloudflare/container-box.ts'
import type { ContainerHost } from '#backends/cloudflare/container-host.ts'
import {
  type Egress,
  type EgressVariables,
  injectKey,
  type InjectKeyParams,
  resolveKeys,
} from '#backends/cloudflare/egress.ts'
import type { SandboxPort } from '#backends/cloudflare/sandbox-port.ts'
import type { SaveOutcome } from '#backends/cloudflare/workspace-copies.ts'
import { openBox, openNative, resetOf, type SandboxEnv, type SandboxStub } from '#durable/workspace/sandbox-object.ts'

export { default } from './with-native-sandbox.ts'
// Its SandboxBox is replaced by the one below.
export * from './with-native-sandbox.ts'
export { ContainerProxy }

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

/** The egress methods of the SDK for one container. */
export type EgressControl = {
  readonly setAllowedHosts: (hosts: string[]) => Promise<void>
  readonly setOutboundByHosts: (
    handlers: Record<string, { readonly method: string; readonly params: InjectKeyParams }>,
  ) => Promise<void>
}

/** Sets the key handlers before the allowed hosts, so that no request leaves without its key. */
export async function applyEgress(
  control: EgressControl,
  { tenant, hosts }: Egress,
  variables: EgressVariables,
): Promise<void> {
  const keyed = Object.keys(resolveKeys(tenant, variables)).map((host) => [
    host,
    { method: 'inject', params: { tenant } },
  ])
  await control.setOutboundByHosts(Object.fromEntries(keyed) as Parameters<EgressControl['setOutboundByHosts']>[0])
  await control.setAllowedHosts([...hosts])
}

/** The methods of the SDK's `Sandbox` that are used. */
export type SdkSandbox = EgressControl & {
  readonly execWithSessionToken: (
    command: string,
    sessionId: string,
    options: { readonly timeout: number; readonly cwd: string },
  ) => Promise<{ readonly stdout: string }>
  readonly readFile: (
    path: string,
    options: FileOptions,
  ) => Promise<{ readonly content: string; readonly size?: number | undefined }>
  readonly writeFile: (path: string, content: string, options: FileOptions) => Promise<unknown>
  readonly destroy: () => Promise<void>
}
type FileOptions = { readonly encoding: 'base64'; readonly sessionId: string }

type SdkContainerOptions = {
  readonly sandbox: SdkSandbox
  readonly variables: EgressVariables
  readonly isRunning: () => boolean
  readonly reset?: () => void
}

/** Makes the SDK run a command outside of any session. Its default session ends or hangs with `exit`. */
const noSession = '__DISABLE_SESSION__'
const fileOptions: FileOptions = { encoding: 'base64', sessionId: noSession }

export function sdkContainer({ sandbox, variables, isRunning, reset }: SdkContainerOptions): ContainerHost {
  return {
    isRunning,
    applyEgress: (egress) => applyEgress(sandbox, egress, variables),
    // The default folder is the workspace, which a command may have removed.
    exec: (script, timeout) => sandbox.execWithSessionToken(script, noSession, { timeout, cwd: '/' }),
    async readFile(path) {
      const { content, size } = await sandbox.readFile(path, fileOptions)
      const bytes = decodeBase64Bytes(content)
      return { bytes, size: size ?? bytes.byteLength }
    },
    writeFile: async (path, bytes) => void (await sandbox.writeFile(path, encodeBase64Bytes(bytes), fileOptions)),
    destroy: () => sandbox.destroy(),
    ...(reset && { reset }),
  }
}
