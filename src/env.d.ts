interface Env {
  readonly DB: D1Database
  /** The first database of histories; HISTORY_2 and so on follow without a gap (db/shards). */
  readonly HISTORY_1?: D1Database
  readonly SESSION: DurableObjectNamespace<import('#durable/session/session-object.ts').SessionDO>
  readonly TENANT: DurableObjectNamespace<import('#durable/tenant/tenant-object.ts').TenantDO>
  /** Keeps the sockets of platforms that do not send messages by webhook. */
  readonly CONNECTION?: DurableObjectNamespace<import('#durable/channels/connection-object.ts').ConnectionDO>
  /** Sends email. */
  readonly EMAIL?: SendEmail
  readonly BLOBS?: R2Bucket
  readonly LOADER?: WorkerLoader
  readonly IMAGES?: ImagesBinding
  /** Browser Run. */
  readonly BROWSER?: Fetcher
  readonly ASSETS?: Fetcher
  /** Limits requests with unknown keys. */
  readonly SHIELD?: RateLimit
  readonly AI?: Ai
  readonly AI_GATEWAY_ID?: string
  readonly ADMIN_KEY?: string
  /** 32 bytes in base64: wraps secrets of tenants. */
  readonly ENCRYPTION_KEY?: string
  /** Comma-separated: earlier values of ENCRYPTION_KEY, which still open what they have wrapped. */
  readonly ENCRYPTION_KEY_PREVIOUS?: string
  /** Seals the backups of each night. Without it there are none. */
  readonly BACKUP_PASSPHRASE?: string
  /** Nights that are kept. */
  readonly BACKUP_DAYS?: string
  /** The hour in UTC at which a night begins. */
  readonly BACKUP_HOUR?: string
  /** Holds the backups of each night. Absent: `BLOBS` does. */
  readonly BACKUPS?: R2Bucket
  readonly CORS_ORIGINS?: string
  /** The address under which platforms reach this deployment. */
  readonly PUBLIC_URL?: string
  /** The jurisdiction of all objects. */
  readonly JURISDICTION?: DurableObjectJurisdiction
  readonly AUX_MODEL?: string
  readonly FAILPOINTS?: string
  /** The address of an OpenTelemetry collector, to which spans are sent. */
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string
  /** Headers for the collector: `name=value,name=value`. */
  readonly OTEL_EXPORTER_OTLP_HEADERS?: string
  readonly SANDBOX_BACKEND?: string
  readonly SANDBOX_HTTP_URL?: string
  readonly SANDBOX_HTTP_TOKEN?: string
  /** Comma-separated: the languages on a machine that is not ours, as `bash,python`. */
  readonly SANDBOX_LANGUAGES?: string
  /** `off`: no machine of ours has a network. Else what the server of `http` allows. */
  readonly SANDBOX_NETWORK?: string
  /** Comma-separated: the hosts that containers may reach. */
  readonly SANDBOX_ALLOWED_HOSTS?: string
  readonly SANDBOX?: DurableObjectNamespace
  readonly DAYTONA_API_KEY?: string
  readonly E2B_API_KEY?: string
  readonly VERCEL_TOKEN?: string
  readonly VERCEL_TEAM_ID?: string
  readonly VERCEL_PROJECT_ID?: string
}
declare namespace Cloudflare {
  interface Env extends globalThis.Env {}
}
interface ImportMeta {
  glob<T>(pattern: string, options: { eager: true; import: string }): Record<string, T>
}
declare module 'node:async_hooks' {
  export class AsyncLocalStorage<T> {
    run<R>(store: T, work: () => R): R
    getStore(): T | undefined
  }
}
declare module 'node:crypto' {
  type ScryptCost = { readonly N: number; readonly r: number; readonly p: number }
  export function scryptSync(password: string, salt: Uint8Array, length: number, cost: ScryptCost): Uint8Array
}
declare module '*.isolate.txt' {
  const code: import('#backends/isolate-code.ts').StoredCode
  export default code
}
