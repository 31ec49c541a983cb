/**
 * Implements `ContainerHost` with the native container API, on which version 1.0 of the SDK is built. It needs no server
 * in the image.
 */

import { startDeadline } from '#durable/platform/timeout.ts'
import { fullDiskCode, quote } from '../host/scripts.ts'
import { createFailure, pausedReason } from './container-failure.ts'
import type { ContainerHost } from './container-host.ts'
import type { Egress } from './egress.ts'

/** The methods of `ctx.container` that are used. */
export type NativeContainer = {
  readonly running: boolean
  readonly start: (options: { enableInternet: boolean }) => void
  readonly destroy: () => Promise<void>
  readonly setInactivityTimeout: (durationMs: number) => Promise<void>
  readonly exec: (command: string[], options: NativeExecOptions) => Promise<NativeProcess>
  readonly interceptAllOutboundHttp: (binding: Fetcher) => Promise<void>
  readonly interceptOutboundHttps: (host: string, binding: Fetcher) => Promise<void>
}
type NativeExecOptions = {
  readonly cwd: string
  readonly env: Record<string, string>
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
  /** The platform stops the container after this time without a renewal. */
  readonly inactivityMs: number
  readonly reset?: () => void
  /** For tests, which have other files. */
  readonly certificates?: Certificates
}

type Certificates = {
  /** The certificate of the platform, which signs the connections that it intercepts. */
  readonly authority: string
  /** The paths of the certificates that distributions trust. */
  readonly systemBundles: readonly string[]
}
const defaultCertificates: Certificates = {
  authority: '/etc/cloudflare/certs/cloudflare-containers-ca.crt',
  systemBundles: [
    '/etc/ssl/certs/ca-certificates.crt',
    '/etc/pki/tls/certs/ca-bundle.crt',
    '/etc/ssl/ca-bundle.pem',
    '/etc/ssl/cert.pem',
  ],
}

const fileTimeoutMs = 120_000
/** Exit code when there is no regular file. */
const missingCode = 94
/** Renewals within one inactivity time. */
const renewals = 3

export function nativeContainer(options: NativeContainerOptions): ContainerHost {
  const { container = missingContainer, reset } = options
  const processes = openProcesses(options)
  const { run } = processes
  return {
    isRunning: () => container !== missingContainer && container.running,
    applyEgress: processes.applyEgress,
    async exec(script, timeoutMs) {
      await processes.trust()
      // Without `--norc` bash runs `.bashrc` of a command's user when its input is a socket.
      // The header of the output has the exit code and the size, so that the platform's slower report is not needed.
      const { stdout } = await run(['bash', '--norc', '-c', `${homeStatement}\n${script}`], timeoutMs)
      return { stdout: new TextDecoder().decode(stdout) }
    },
    async readFile(path) {
      // A pipe would block, and a device may never end.
      // A file that grows is read up to the size that it had.
      const script = `[ -f "$0" ] || exit ${missingCode}; s=$(stat -L -c %s -- "$0") && echo "$s" && exec head -c "$s" -- "$0"`
      const { ended, stdout } = await run(['bash', '--norc', '-c', script, path], fileTimeoutMs)
      const exitCode = await ended
      if (exitCode === missingCode) throw fileFailure('FILE_NOT_FOUND', `There is no regular file ${path}.`)
      const end = stdout.indexOf(10)
      if (exitCode !== 0 || end < 0) throw fileFailure('PERMISSION_DENIED', `The file ${path} cannot be read.`)
      return { bytes: stdout.slice(end + 1), size: Number(new TextDecoder().decode(stdout.subarray(0, end))) }
    },
    async writeFile(path, bytes) {
      const script = `cat > "$0" && exit; [ -f "$0" ] && [ -w "$0" ] && exit ${fullDiskCode}; exit 1`
      const { ended } = await run(['bash', '--norc', '-c', script, path], fileTimeoutMs, new Blob([bytes]).stream())
      const exitCode = await ended
      if (exitCode === fullDiskCode) throw fileFailure('NO_SPACE', `The disk is full: ${path} was not written.`)
      if (exitCode !== 0) throw fileFailure('PERMISSION_DENIED', `The file ${path} cannot be written.`)
    },
    destroy: () => container.destroy(),
    keepAwake: processes.renew,
    ...(reset && { reset }),
  }
}

/** Runs processes in the container, which starts with the first one and stays awake while one runs. */
function openProcesses(options: NativeContainerOptions) {
  const { container = missingContainer, openEgress, inactivityMs, certificates = defaultCertificates } = options
  const env = trustVariables(certificates)
  /** Rules are part of the running container: a new one gets them again, before it starts. */
  let egress: Egress | undefined
  let renewedAt = 0
  let isTrusted = false
  const renew = async () => {
    renewedAt = Date.now()
    await container.setInactivityTimeout(inactivityMs)
  }
  const start = async () => {
    if (egress) await intercept(container, openEgress(egress))
    container.start({ enableInternet: false })
    isTrusted = false
    renewedAt = 0
  }
  const spawn = async (command: string[], signal: AbortSignal, stdin?: ReadableStream) => {
    try {
      if (!container.running) await start()
      if (Date.now() - renewedAt > inactivityMs / renewals) await renew()
      const streams = { stdout: 'pipe', stderr: 'ignore', ...(stdin && { stdin }) } as const
      return await container.exec(command, { cwd: '/', env, signal, ...streams })
    } catch (error) {
      throw container.running ? execFailure(error) : startFailure(error)
    }
  }
  const run = async (command: string[], timeoutMs: number, stdin?: ReadableStream) => {
    const deadline = startDeadline(timeoutMs)
    const process = await spawn(command, deadline.signal, stdin).catch((error: unknown) => {
      deadline.end()
      throw error
    })
    const renewing = setInterval(() => void renew().catch(() => undefined), inactivityMs / renewals)
    // Without waiting for the exit code, output may be cut. Waiting closes the input, too.
    const ended = process.exitCode.catch(() => undefined)
    void ended.then(deadline.end)
    try {
      return { ended, stdout: await new Response(process.stdout).bytes() }
    } finally {
      clearInterval(renewing)
    }
  }
  return {
    run,
    renew,
    async applyEgress(next: Egress) {
      egress = next
      if (container.running) await intercept(container, openEgress(next))
    },
    /** Once for each container. */
    async trust() {
      if (!egress || (isTrusted && container.running)) return
      await run(['bash', '--norc', '-c', trustScript(certificates)], fileTimeoutMs)
      isTrusted = true
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

/** The platform may pass nothing but PATH. */
const homeStatement = '[ -n "$HOME" ] || export HOME=~'

/** Our own list, beside the certificate: the system's one and the platform's certificate. */
const bundleOf = (authority: string): string => `${authority.slice(0, authority.lastIndexOf('/'))}/bundle.crt`

/**
 * Names the certificates for programs that have variables for it: OpenSSL and Python, curl, requests and pip, git, node
 * (which adds to its own list), cargo, and the AWS tools.
 */
function trustVariables({ authority }: Certificates): Record<string, string> {
  const bundle = bundleOf(authority)
  return {
    SSL_CERT_FILE: bundle,
    CURL_CA_BUNDLE: bundle,
    REQUESTS_CA_BUNDLE: bundle,
    PIP_CERT: bundle,
    GIT_SSL_CAINFO: bundle,
    CARGO_HTTP_CAINFO: bundle,
    AWS_CA_BUNDLE: bundle,
    NODE_EXTRA_CA_CERTS: authority,
  }
}

/**
 * Makes the platform's certificate trusted: in our own list, and in that of the system, which apt and other programs
 * without a variable use. Waits for the certificate, which comes a moment after the start.
 */
const trustScript = ({
  authority,
  systemBundles,
}: Certificates): string => `A=${quote(authority)}; B=${quote(bundleOf(authority))}; mkdir -p "\${B%/*}"
for i in {1..50}; do [ -s "$A" ] && break; sleep 0.1; done
for s in ${systemBundles.map(quote).join(' ')}; do [ -s "$s" ] && break; done
k=$(sed -n 2p "$A" 2>/dev/null)
[ -n "$k" ] && [ -s "$s" ] && ! grep -qF "$k" "$s" && { echo; cat "$A"; } >> "$s"
{ cat "$s"; grep -qF "$k" "$s" || cat "$A"; } > "$B.new" 2>/dev/null; mv "$B.new" "$B"`

/** The container has not started: nothing has run. */
function startFailure(error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error)
  return createFailure('CONTAINER_UNAVAILABLE', message, { phase: 'startup' })
}

/** The engine refuses processes in a container that is paused, or has ended without that the platform knows. */
function execFailure(error: unknown): unknown {
  const message = error instanceof Error ? error.message : String(error)
  const [, state] = /is (paused|not running)/i.exec(message) ?? []
  if (state === undefined) return error
  const reason = state === 'paused' ? pausedReason : 'ended'
  return createFailure('CONTAINER_UNAVAILABLE', message, { admitted: false, retryable: true, reason })
}

const fileFailure = (code: string, message: string): Error => createFailure(code, message, { admitted: false })
