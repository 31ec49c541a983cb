/**
 * Stands in for Cloudflare's API on a local port: the routes that `wrangler` and `npm run deploy` call, with an account of
 * its own. Databases are real SQLite, so that migrations are applied. What is uploaded answers `/health` on the same port.
 */

import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'

export const accountId = '0123456789abcdef0123456789abcdef'
export const apiToken = 'token-of-a-test-0123456789'

type Account = { readonly plan: 'paid' | 'free'; readonly hasR2: boolean; readonly subdomain?: string | undefined }
type Metadata = {
  readonly bindings?: readonly Binding[]
  readonly limits?: object
  readonly migrations?: { readonly new_tag?: string }
  readonly main_module?: string
}
type Binding = { readonly type: string; readonly name: string; readonly text?: string }
type Worker = {
  readonly metadata: Metadata
  readonly modules: ReadonlyMap<string, number>
  readonly secrets: Record<string, string>
}
type Database = {
  readonly uuid: string
  readonly name: string
  readonly jurisdiction: string | null
  readonly file: DatabaseSync
}

/** A refusal, as Cloudflare words it. */
class Refusal extends Error {
  readonly status: number
  readonly code: number

  constructor(status: number, code: number, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const missing = (code: number, message: string) => new Refusal(404, code, message)

export class CloudflareApi {
  readonly workers = new Map<string, Worker>()
  /** Which worker answers a domain of the account. */
  readonly domains = new Map<string, string>()
  readonly databases: Database[] = []
  readonly buckets = new Map<string, { readonly jurisdiction: string | undefined }>()
  /** Method and path of every call that changes something, without the account. */
  readonly changes: string[] = []
  /** Routes without an answer: a test fails on them. */
  readonly unknown: string[] = []
  /** A call whose path matches is refused once. wrangler repeats what fails with a server error, so it is none. */
  failOnce: RegExp | undefined
  /**
   * Called with method and path of each call, without the account and ids. `drop`: the connection breaks and nothing is
   * done. `lose`: it breaks after the call was done.
   */
  beforeCall: ((name: string) => 'drop' | 'lose' | undefined) | undefined
  healthFailures = 0
  subdomain: string | undefined
  url = ''
  readonly #assets = new Set<string>()
  readonly #account: Account

  constructor(account: Partial<Account> = {}) {
    this.#account = { plan: 'paid', hasR2: true, ...account }
    this.subdomain = this.#account.subdomain
  }

  async start(): Promise<this> {
    const server = createServer((request, response) => {
      void this.#answer(request)
        // The process that sent the request was killed meanwhile.
        .catch(() => undefined)
        .then((answer) => {
          if (!answer) return void request.socket.destroy()
          response.writeHead(answer.status, { 'content-type': 'application/json' })
          response.end(JSON.stringify(answer.body))
        })
    })
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.close = () => void server.close()
    return this
  }

  close: () => void = () => {}

  /** Undefined: the connection breaks. */
  async #answer(request: IncomingMessage): Promise<{ status: number; body: unknown } | undefined> {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const call = new Call(request, url, Buffer.concat(parts))
    if (!url.pathname.startsWith('/client/v4')) return this.#visit(call)
    const fate = this.beforeCall?.(`${call.method} ${pathOf(call).replace(/\/[0-9a-f-]{36}/, '/ID')}`)
    if (fate === 'drop') return undefined
    const answer = await this.#answerCall(call)
    return fate === 'lose' ? undefined : answer
  }

  async #answerCall(call: Call): Promise<{ status: number; body: unknown }> {
    try {
      return { status: 200, body: wrap(await this.#route(call)) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { status, code, message } = error
      return { status, body: { success: false, errors: [{ code, message }], messages: [], result: null } }
    }
  }

  /** What the deployed worker answers. */
  #visit({ path }: Call): { status: number; body: unknown } {
    if (!this.workers.size || this.healthFailures-- > 0) return { status: 404, body: {} }
    if (path === '/health') return { status: 200, body: { status: 'ok' } }
    if (path === '/api/login/links')
      return { status: 201, body: { url: 'https://talaria.example.workers.dev/#in=once' } }
    return { status: 404, body: {} }
  }

  async #route(call: Call): Promise<Result> {
    const { method } = call
    const path = pathOf(call)
    if (call.authorization !== `Bearer ${apiToken}` && !path.startsWith('/workers/assets/upload'))
      throw new Refusal(401, 10_000, 'Authentication error')
    if (this.failOnce?.test(`${method} ${path}`)) {
      this.failOnce = undefined
      throw new Refusal(400, 10_013, 'An unknown error has occurred.')
    }
    if (method !== 'GET' && !path.endsWith('/query')) this.changes.push(`${method} ${path}`)
    for (const [pattern, answer] of this.#routes) {
      const found = pattern.exec(`${method} ${path}`)
      if (found) return answer(call, found.slice(1))
    }
    this.unknown.push(`${method} ${path}`)
    throw missing(7_003, `Could not route to ${path}`)
  }

  readonly #routes: readonly (readonly [RegExp, (call: Call, words: string[]) => Result | Promise<Result>])[] = [
    [/^GET \/accounts$/, () => page([{ id: accountId, name: 'Ada' }])],
    [/^GET \/memberships$/, () => page([{ id: 'm', account: { id: accountId, name: 'Ada' } }])],
    [/^GET \/user$/, () => one({ id: 'u', email: 'ada@example.com' })],
    [/^GET \/workers\/subdomain$/, () => one({ subdomain: this.#requireSubdomain() })],
    [/^PUT \/workers\/subdomain$/, (call) => one({ subdomain: (this.subdomain = String(call.json['subdomain'])) })],
    [/^GET \/d1\/database$/, () => page(this.databases.map(describeDatabase))],
    [/^POST \/d1\/database$/, (call) => one(this.#createDatabase(call.json))],
    [/^GET \/d1\/database\/([^/]+)$/, (_, [id]) => one(describeDatabase(this.#requireDatabase(id)))],
    [/^POST \/d1\/database\/([^/]+)\/query$/, (call, [id]) => this.#query(this.#requireDatabase(id), call.json)],
    [/^GET \/r2\/buckets\/([^/]+)$/, (call, [name]) => one(this.#requireBucket(name, call.jurisdiction))],
    [/^POST \/r2\/buckets$/, (call) => one(this.#createBucket(call))],
    [/^PUT \/workers\/scripts\/([^/]+)$/, (call, [name]) => this.#upload(call, name)],
    [/^DELETE \/workers\/scripts\/([^/]+)$/, (_, [name]) => one(this.workers.delete(name ?? ''))],
    [/^GET \/workers\/scripts\/([^/]+)\/settings$/, (_, [name]) => one(this.#settings(name))],
    [/^GET \/workers\/scripts\/([^/]+)\/secrets$/, (_, [name]) => one(this.#settings(name).bindings)],
    [/^GET \/workers\/services\/([^/]+)$/, (_, [name]) => one(this.#service(name))],
    [/^POST \/workers\/scripts\/([^/]+)\/versions$/, (call, [name]) => this.#upload(call, name)],
    [/^POST \/workers\/scripts\/([^/]+)\/deployments$/, () => one({ id: randomUUID() })],
    [/^PATCH \/workers\/scripts\/([^/]+)\/(?:script-)?settings$/, (call) => one(call.json)],
    [/^GET \/workers\/workers\/([^/]+)$/, (_, [name]) => one(this.#describeWorker(name))],
    [/^PUT \/workers\/workers\/([^/]+)$/, (_, [name]) => one(this.#describeWorker(name))],
    [/^PATCH \/workers\/workers\/([^/]+)$/, (_, [name]) => one(this.#describeWorker(name))],
    [/^GET \/workers\/scripts\/([^/]+)\/deployments$/, () => one({ deployments: [] })],
    [/^GET \/workers\/scripts\/([^/]+)\/subdomain$/, () => one({ enabled: false, previews_enabled: false })],
    [/^POST \/workers\/scripts\/([^/]+)\/subdomain$/, (call) => one(call.json)],
    [
      /^POST \/workers\/scripts\/[^/]+\/domains\/changeset$/,
      () => one({ added: [], removed: [], updated: [], conflicting: [] }),
    ],
    [/^PUT \/workers\/scripts\/([^/]+)\/domains\/records$/, (call, [name]) => one(this.#setDomains(call.json, name))],
    [/^PUT \/workers\/scripts\/([^/]+)\/schedules$/, (call) => one({ schedules: call.json })],
    [/^GET \/workers\/durable_objects\/namespaces$/, () => page([])],
    [/^POST \/workers\/scripts\/([^/]+)\/assets-upload-session$/, (call) => this.#beginAssets(call.json)],
    [/^POST \/workers\/assets\/upload$/, (call) => this.#storeAssets(call)],
  ]

  #setDomains({ origins }: Readonly<Record<string, unknown>>, name = ''): object {
    for (const { hostname } of origins as readonly { readonly hostname: string }[]) this.domains.set(hostname, name)
    return {}
  }

  #requireSubdomain(): string {
    if (!this.subdomain) throw missing(10_007, 'You do not have a workers.dev subdomain.')
    return this.subdomain
  }

  #requireDatabase(id: string | undefined): Database {
    const found = this.databases.find(({ uuid }) => uuid === id)
    if (!found) throw missing(7_404, `The database ${id} could not be found`)
    return found
  }

  /** A deployment that another machine made. */
  addDeployment(jurisdiction: string, secrets: Record<string, string>): void {
    this.#createDatabase({ name: 'talaria', jurisdiction })
    this.buckets.set('talaria-blobs', { jurisdiction })
    this.workers.set('talaria', { metadata: {}, modules: new Map(), secrets })
  }

  #createDatabase({ name, jurisdiction }: Json) {
    if (this.databases.some((one) => one.name === name))
      throw new Refusal(400, 7_502, `A database with the name '${String(name)}' already exists`)
    const file = new DatabaseSync(':memory:')
    const made = { uuid: randomUUID(), name: String(name), jurisdiction: (jurisdiction as string) ?? null, file }
    this.databases.push(made)
    return describeDatabase(made)
  }

  #query({ file }: Database, { sql, params }: Json): Result {
    try {
      return one(runStatements(file, String(sql), (params ?? []) as string[]))
    } catch (error) {
      throw new Refusal(400, 7_500, (error as Error).message)
    }
  }

  #requireBucket(name: string | undefined, jurisdiction: string | undefined) {
    const found = this.buckets.get(name ?? '')
    if (!this.#account.hasR2) throw new Refusal(403, 10_042, 'Please enable R2 through the Cloudflare Dashboard.')
    if (!found || found.jurisdiction !== jurisdiction) throw missing(10_006, 'The specified bucket does not exist.')
    return { name }
  }

  #createBucket({ json, jurisdiction }: Call) {
    if (!this.#account.hasR2) throw new Refusal(403, 10_042, 'Please enable R2 through the Cloudflare Dashboard.')
    this.buckets.set(String(json['name']), { jurisdiction })
    return { name: json['name'] }
  }

  async #upload(call: Call, name = ''): Promise<Result> {
    const form = await call.form()
    const metadata = JSON.parse(await textOf(form.get('metadata'))) as Metadata
    this.#refuseUnpaid(metadata)
    for (const { type, name: binding, ...rest } of metadata.bindings ?? []) {
      if (type === 'd1') this.#requireDatabase((rest as { id?: string }).id)
      if (type === 'r2_bucket' && !this.buckets.has((rest as { bucket_name: string }).bucket_name))
        throw new Refusal(400, 10_085, `R2 bucket of ${binding} not found`)
    }
    const modules = new Map<string, number>()
    for (const [part, file] of form) if (part !== 'metadata' && typeof file !== 'string') modules.set(part, file.size)
    if (!modules.has(metadata.main_module ?? ''))
      throw new Refusal(400, 10_021, `No such module ${metadata.main_module}`)
    const given = (metadata.bindings ?? []).filter(({ type }) => type === 'secret_text')
    const secrets = { ...this.workers.get(name)?.secrets }
    for (const { name: key, text = '' } of given) secrets[key] = text
    this.workers.set(name, { metadata, modules, secrets })
    return one({
      id: randomUUID(),
      deployment_id: randomUUID().replaceAll('-', ''),
      metadata: {},
      resources: { script: { etag: 'x' } },
      startup_time_ms: 60,
      has_modules: true,
    })
  }

  #refuseUnpaid({ limits, bindings = [] }: Metadata): void {
    if (this.#account.plan === 'paid') return
    if (limits) throw new Refusal(400, 100_328, 'CPU limits are not supported for the Free plan.')
    const loader = bindings.find(({ type }) => type === 'worker_loader')
    if (loader) throw new Refusal(400, 10_021, `binding ${loader.name} of type worker_loader is invalid`)
  }

  #settings(name = '') {
    const worker = this.workers.get(name)
    if (!worker) throw missing(10_007, 'This Worker does not exist on your account.')
    const bindings = Object.keys(worker.secrets).map((key) => ({ type: 'secret_text', name: key }))
    return { bindings: [...(worker.metadata.bindings ?? []).filter(({ type }) => type !== 'secret_text'), ...bindings] }
  }

  #service(name = '') {
    const worker = this.workers.get(name)
    if (!worker) throw missing(10_090, `workers.api.error.service_not_found`)
    const script = { last_deployed_from: 'wrangler', migration_tag: worker.metadata.migrations?.new_tag ?? 'v2' }
    return { id: name, default_environment: { environment: 'production', script } }
  }

  #describeWorker(name = '') {
    this.#settings(name)
    return { id: 'w', name, subdomain: { enabled: true, previews_enabled: false }, tags: [], observability: {} }
  }

  #beginAssets({ manifest }: Json): Result {
    const hashes = Object.values(manifest as Record<string, { hash: string }>).map(({ hash }) => hash)
    const buckets = hashes.filter((hash) => !this.#assets.has(hash)).map((hash) => [hash])
    return one({ jwt: tokenOf({ manifest: 'whole' }), buckets })
  }

  async #storeAssets(call: Call): Promise<Result> {
    const form = await call.form()
    for (const [hash] of form) this.#assets.add(hash)
    return one({ jwt: tokenOf({ uploaded: this.#assets.size }) })
  }
}

/** Without the account. */
const pathOf = ({ path }: Call) => path.replace('/client/v4', '').replace(`/accounts/${accountId}`, '')

type Json = Readonly<Record<string, unknown>>
type Result = { readonly result: unknown; readonly result_info?: object }

const one = (result: unknown): Result => ({ result })
const page = (result: readonly unknown[]): Result => ({
  result,
  result_info: { page: 1, per_page: 50, count: result.length, total_count: result.length, total_pages: 1 },
})
const wrap = (body: Result) => ({ success: true, errors: [], messages: [], ...body })
const describeDatabase = ({ file: _file, ...rest }: Database) => ({ ...rest, version: 'production', num_tables: 0 })
const textOf = async (part: ReturnType<FormData['get']>) =>
  typeof part === 'string' ? part : ((await part?.text()) ?? '')

/** wrangler reads the claims of a token. */
function tokenOf(claims: object): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${encode({ alg: 'none' })}.${encode({ exp: Math.floor(Date.now() / 1_000) + 3_600, ...claims })}.x`
}

/** A call may hold several statements. The rows of each are returned, as D1 does. */
function runStatements(file: DatabaseSync, sql: string, params: readonly string[]) {
  const meta = { served_by: 'test', duration: 0, changes: 0, last_row_id: 0, rows_read: 0, rows_written: 0 }
  if (!/^\s*(?:SELECT|PRAGMA)/i.test(sql)) {
    file.exec(`BEGIN; ${sql}; COMMIT`)
    return [{ results: [], success: true, meta }]
  }
  return [{ results: file.prepare(sql).all(...params), success: true, meta }]
}

class Call {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly jurisdiction: string | undefined
  readonly #body: Buffer
  readonly #type: string

  constructor({ method = 'GET', headers }: IncomingMessage, { pathname }: URL, body: Buffer) {
    this.method = method
    this.path = pathname
    this.authorization = headers.authorization
    this.jurisdiction = headers['cf-r2-jurisdiction'] as string | undefined
    this.#body = body
    this.#type = headers['content-type'] ?? ''
  }

  get json(): Json {
    return JSON.parse(this.#body.toString() || '{}') as Json
  }

  form(): Promise<FormData> {
    return new Response(this.#body, { headers: { 'content-type': this.#type } }).formData()
  }
}
