/**
 * Lists every file that opens connections, by who names the address and what its requests are held to.
 * address-fetches.test.ts compares it with the source, and tries the entries that a request orders.
 */

export type AddressFetch = {
  readonly file: string
  /**
   * `call`: a tool call, which `checkPermission` has judged. `ordered`: a request or a job, which `judgeAction` judges.
   * `configured`: settings or records, which take their scope. `deployment`: variables of the deployment. `platform`: the
   * API of a chat platform. `transport`: passes on the requests of others.
   */
  readonly by: 'call' | 'ordered' | 'configured' | 'deployment' | 'platform' | 'transport'
  /** Tools that a role without network cannot use for an address. */
  readonly tools?: Readonly<Record<string, object>>
  /** Sends without the guarded fetch, for this reason. */
  readonly raw?: string
}

const address = 'https://example.com/a.png'

export const addressFetches: readonly AddressFetch[] = [
  // --- in place of a person or a job
  { file: 'worker/files/uploads.ts', by: 'ordered' },
  { file: 'worker/routes/skills/skill-imports.ts', by: 'ordered' },
  // The repository, below the address of GitHub.
  { file: 'worker/routes/skills/publish-skill.ts', by: 'platform' },
  { file: 'worker/input/discover-models.ts', by: 'ordered' },
  { file: 'durable/tenant/jobs/run-job.ts', by: 'ordered' },
  { file: 'durable/tenant/jobs/deliver-result.ts', by: 'ordered' },
  { file: 'worker/media/paid-request.ts', by: 'ordered' },
  // --- in place of a model
  {
    file: 'durable/turn/session-services.ts',
    by: 'call',
    tools: {
      web_extract: { urls: [address] },
      web_search: { query: 'a' },
      browser_navigate: { url: address },
      vision_analyze: { image_url: address, question: 'a' },
      terminal: { command: `curl ${address}` },
      execute_code: { language: 'python', code: 'a' },
    },
  },
  {
    file: 'durable/turn/media/load-picture.ts',
    by: 'call',
    tools: {
      vision_analyze: { image_url: address, question: 'a' },
      video_analyze: { video_url: address, question: 'a' },
      image_generate: { prompt: 'a', image_url: address },
      video_generate: { prompt: 'a', image_url: address },
    },
  },
  {
    file: 'durable/turn/tools/browser/act.ts',
    by: 'call',
    tools: { browser_navigate: { url: address } },
    raw: 'the endpoint of the browser is the deployment’s or was judged; pages go through the network guard',
  },
  {
    file: 'durable/workspace/open-backend.ts',
    by: 'call',
    tools: { terminal: { command: `curl ${address}` }, execute_code: { language: 'python', code: 'a' } },
  },
  {
    file: 'durable/workspace/container-egress.ts',
    by: 'call',
    tools: { terminal: { command: `curl ${address}` } },
    raw: 'it checks the allow-list and the address itself',
  },
  {
    file: 'worker/with-sandbox.ts',
    by: 'call',
    tools: { terminal: { command: 'curl' } },
    raw: 'hosts of the allow-list',
  },
  // --- named in settings and records
  { file: 'durable/tenant/mcp/list-server.ts', by: 'configured' },
  { file: 'durable/tenant/mcp/mcp-client.ts', by: 'configured' },
  { file: 'durable/tenant/mcp/oauth/discover.ts', by: 'configured' },
  { file: 'durable/tenant/mcp/oauth/refresh-grant.ts', by: 'configured' },
  { file: 'durable/tenant/mcp/oauth/sign-in.ts', by: 'configured' },
  { file: 'durable/tenant/mcp/oauth/token-request.ts', by: 'configured' },
  { file: 'durable/tenant/outgoing/outgoing-rows.ts', by: 'configured' },
  { file: 'durable/tenant/outgoing/sign-delivery.ts', by: 'configured' },
  { file: 'durable/tenant/plugins/built-in-plugins.ts', by: 'configured' },
  { file: 'durable/tenant/plugins/plugin-host.ts', by: 'configured' },
  { file: 'worker/routes/outgoing-hooks.ts', by: 'configured' },
  { file: 'durable/tenant/push/send-push.ts', by: 'configured' },
  { file: 'durable/tenant/recall/embed-texts.ts', by: 'configured' },
  { file: 'durable/turn/model-effects.ts', by: 'configured' },
  { file: 'durable/turn/recall/outside-memory.ts', by: 'configured' },
  { file: 'worker/routes/v1/embeddings.ts', by: 'configured' },
  { file: 'worker/auth.ts', by: 'configured' },
  { file: 'worker/login/verify-login.ts', by: 'configured' },
  { file: 'worker/routes/oauth/find-client.ts', by: 'configured' },
  // --- chat platforms
  { file: 'durable/tenant/channels/connection.ts', by: 'platform' },
  { file: 'channels/fetch-media.ts', by: 'platform' },
  { file: 'channels/slack/slack.ts', by: 'platform' },
  { file: 'channels/call-api.ts', by: 'platform', raw: 'the address of the API of the platform' },
  { file: 'durable/channels/receiver.ts', by: 'platform', raw: 'the socket that the API of the platform names' },
  // --- variables of the deployment
  { file: 'durable/models/catalog.ts', by: 'deployment' },
  { file: 'durable/tenant/subscriptions/renew-tokens.ts', by: 'deployment' },
  { file: 'durable/tenant/subscriptions/sign-in.ts', by: 'deployment' },
  { file: 'durable/tenant/subscriptions/services.ts', by: 'deployment' },
  { file: 'durable/models/lazy-dialect.ts', by: 'deployment', raw: 'addresses of tenants get the guarded fetch' },
  { file: 'backends/dialects/openai.ts', by: 'deployment', raw: 'addresses of tenants get the guarded fetch' },
  { file: 'durable/platform/name-resolution.ts', by: 'deployment', raw: 'the resolver of the guard itself' },
  { file: 'durable/platform/otlp.ts', by: 'deployment', raw: 'the collector of the deployment' },
  { file: 'backends/http/http.ts', by: 'deployment', raw: 'the server of the host' },
  { file: 'backends/e2b/e2b.ts', by: 'deployment', raw: 'the API of the sandboxes' },
  { file: 'backends/vercel/vercel.ts', by: 'deployment', raw: 'the API of the sandboxes' },
  { file: 'backends/host/daytona.ts', by: 'deployment', raw: 'the API of the sandboxes' },
  // --- wrappers
  { file: 'durable/platform/guarded-fetch.ts', by: 'transport', raw: 'it is the guarded fetch' },
  { file: 'durable/tenant/tenant-fetch.ts', by: 'transport' },
  { file: 'durable/tenant/jobs/create-jobs.ts', by: 'transport' },
  { file: 'durable/models/dialects.ts', by: 'transport' },
  { file: 'durable/models/media/vendor-transport.ts', by: 'transport' },
  { file: 'backends/skills/import/import-skill.ts', by: 'transport', raw: 'the `fetch` that its caller gives' },
  { file: 'backends/skills/import/search-sources.ts', by: 'transport', raw: 'the `fetch` that its caller gives' },
  { file: 'backends/skills/import/read-index.ts', by: 'transport', raw: 'the `fetch` that its caller gives' },
]

/** A request that has an address fetched. It is tried with keys that may not. */
export type OrderedFetch = {
  readonly name: string
  readonly file: string
  readonly method: string
  readonly path: string
  readonly body: (url: string) => object
  readonly status: number
}

const file = (url: string) => ({ type: 'file', file: { file_url: url } })

export const orderedFetches: readonly OrderedFetch[] = [
  {
    name: 'a file of chat completions',
    file: 'worker/files/uploads.ts',
    method: 'POST',
    path: '/v1/chat/completions',
    body: (url) => ({ messages: [{ role: 'user', content: [file(url)] }] }),
    status: 403,
  },
  {
    name: 'a file of responses',
    file: 'worker/files/uploads.ts',
    method: 'POST',
    path: '/v1/responses',
    body: (url) => ({ input: [{ role: 'user', content: [{ type: 'input_file', file_url: url }] }] }),
    status: 403,
  },
  {
    name: 'a file of a run',
    file: 'worker/files/uploads.ts',
    method: 'POST',
    path: '/v1/runs',
    body: (url) => ({ input: [{ role: 'user', content: [{ type: 'input_file', file_url: url }] }] }),
    status: 403,
  },
  {
    name: 'a file of a session',
    file: 'worker/files/uploads.ts',
    method: 'POST',
    path: '/api/sessions/{id}/chat',
    body: (url) => ({ input: [file(url)] }),
    status: 403,
  },
  {
    name: 'a skill',
    file: 'worker/routes/skills/skill-imports.ts',
    method: 'POST',
    path: '/api/skills/import',
    body: (url) => ({ url }),
    status: 403,
  },
  {
    name: 'a list of models',
    file: 'worker/input/discover-models.ts',
    method: 'POST',
    path: '/api/settings/models/discover',
    body: (url) => ({ base_url: url }),
    status: 403,
  },
  {
    name: 'a monitor of a job',
    file: 'durable/tenant/jobs/run-job.ts',
    method: 'POST',
    path: '/api/jobs',
    body: (url) => ({ name: 'it', schedule: 'every 1h', prompt: 'Tell.', monitor_url: url }),
    status: 400,
  },
  {
    name: 'a delivery of a job',
    file: 'durable/tenant/jobs/deliver-result.ts',
    method: 'POST',
    path: '/api/jobs',
    body: (url) => ({ name: 'it', schedule: 'every 1h', prompt: 'Tell.', deliver: url }),
    status: 400,
  },
  {
    name: 'an image of a vendor',
    file: 'worker/media/paid-request.ts',
    method: 'POST',
    path: '/v1/images/generations',
    body: (url) => ({ model: 'gpt-image-1', prompt: url }),
    status: 403,
  },
]
