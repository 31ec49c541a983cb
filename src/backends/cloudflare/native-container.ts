/**
 * Implements `ContainerHost` with the native container API, on which version 1.0 of the SDK is built. It needs no server
 * in the image. Copies are snapshots of the whole container; the platform deletes them after 30 days.
 */

import type { ContainerHost } from './container-host.ts'
import type { Egress } from './egress.ts'

/** The methods of `ctx.container` that are used. */
export type NativeContainer = {
  readonly running: boolean
  readonly start: (options: { enableInternet: boolean; containerSnapshot?: { id: string } }) => void
  readonly destroy: () => Promise<void>
  readonly setInactivityTimeout: (durationMs: number) => Promise<void>
  readonly exec: (command: string[], options: NativeExecOptions) => Promise<NativeProcess>
  readonly snapshotContainer: () => Promise<{ readonly id: string }>
  readonly interceptAllOutboundHttp: (binding: Fetcher) => Promise<void>
  readonly interceptOutboundHttps: (host: string, binding: Fetcher) => Promise<void>
}
type NativeExecOptions = {
  readonly cwd: string
  readonly stdin?: ReadableStream
  readonly stdout: 'pipe'
  readonly stderr: 'ignore'
  readonly signal?: AbortSignal
}
type NativeProcess = { readonly stdout: ReadableStream | null; readonly exitCode: Promise<number> }

export type NativeContainerOptions = {
  /** Undefined where containers are not enabled. */
  readonly container: NativeContainer | undefined
  /** Makes the service that receives all requests of the container. */
  readonly openEgress: (egress: Egress) => Fetcher
  readonly inactivityMs: number
}

const fileTimeoutMs = 120_000
/** Exit code when a file does not exist. */
const missingCode = 94

export function nativeContainer({ container: given, openEgress, inactivityMs }: NativeContainerOptions): ContainerHost {
  const container = given ?? missingContainer
  /** Rules are part of the running container: a new one gets them again. */
  let egress: Egress | undefined
  const start = async (snapshot?: { id: string }) => {
    container.start({ enableInternet: false, ...(snapshot && { containerSnapshot: snapshot }) })
    await container.setInactivityTimeout(inactivityMs)
    if (egress) await intercept(container, openEgress(egress))
  }
  const run = async (command: string[], timeoutMs: number, stdin?: ReadableStream) => {
    if (!container.running) await start()
    const signal = AbortSignal.timeout(timeoutMs)
    const options = { cwd: '/', stdout: 'pipe', stderr: 'ignore', signal, ...(stdin && { stdin }) } as const
    const process = await container.exec(command, options)
    // Without waiting for the exit code, output was cut.
    const [exitCode, stdout] = await Promise.all([process.exitCode, new Response(process.stdout).bytes()])
    return { exitCode, stdout }
  }
  return {
    async applyEgress(next) {
      egress = next
      if (container.running) await intercept(container, openEgress(next))
    },
    async exec(script, timeoutMs) {
      const { exitCode, stdout } = await run(['bash', '-c', script], timeoutMs)
      return { exitCode, stdout: new TextDecoder().decode(stdout) }
    },
    async readFile(path) {
      const script = `[ -e "$0" ] || exit ${missingCode}; stat -L -c %s -- "$0" && exec cat -- "$0"`
      const { exitCode, stdout } = await run(['bash', '-c', script, path], fileTimeoutMs)
      if (exitCode === missingCode) throw createFileError('FILE_NOT_FOUND', `There is no file ${path}.`)
      const end = stdout.indexOf(10)
      if (exitCode !== 0 || end < 0) throw createFileError('PERMISSION_DENIED', `The file ${path} cannot be read.`)
      return { bytes: stdout.slice(end + 1), size: Number(new TextDecoder().decode(stdout.subarray(0, end))) }
    },
    async writeFile(path, bytes) {
      const { exitCode } = await run(['bash', '-c', 'cat > "$0"', path], fileTimeoutMs, new Blob([bytes]).stream())
      if (exitCode !== 0) throw createFileError('PERMISSION_DENIED', `The file ${path} cannot be written.`)
    },
    destroy: () => container.destroy(),
    copies: {
      create: () => container.snapshotContainer(),
      async restore(copy) {
        await container.destroy()
        try {
          await start({ id: copy.id })
        } catch (error) {
          throw isUnknownSnapshot(error) ? createFileError('BACKUP_NOT_FOUND', String(error)) : error
        }
      },
      remove: async () => {},
      abandon: () => {},
    },
  }
}

const missingContainer = new Proxy({} as NativeContainer, {
  get() {
    throw new Error('Containers have not been enabled for this Durable Object class.')
  },
})

async function intercept(container: NativeContainer, service: Fetcher): Promise<void> {
  await container.interceptOutboundHttps('*', service)
  await container.interceptAllOutboundHttp(service)
}

const isUnknownSnapshot = (error: unknown): boolean => {
  const text = String(error).toLowerCase()
  return text.includes('snapshot') && /not found|expired|does not exist|unknown/.test(text)
}

const createFileError = (code: string, message: string): Error =>
  Object.assign(new Error(message), { errorResponse: { code, context: { admitted: false } } })
