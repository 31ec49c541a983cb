// Renders the configuration that wrangler deploys, from wrangler.toml and what deploy.json has.

const placeholder = /^0{8}-0{4}-0{4}-0{4}-0{12}$/

/** Cloudflare's public resolver. It answers the JSON form that guarded requests ask for. */
const resolver = 'https://cloudflare-dns.com/dns-query'

/** The parts of wrangler.toml that an account on the free plan is refused or cannot use. */
const paidParts = ['worker_loaders', 'limits', 'images', 'browser', 'containers']

export const isPlaceholder = (id) => !id || placeholder.test(id)

/** `plain`: wrangler.toml as an object. `facts`: deploy.json, and what this run has learned. */
export function renderConfig(plain, facts) {
  const { name, account, database, jurisdiction, url, plan, wrangler: own = {} } = facts
  const config = structuredClone(plain)
  if (plan === 'free') for (const part of paidParts) delete config[part]
  Object.assign(config, { name, account_id: account })
  for (const entry of config.d1_databases ?? [])
    if (entry.binding === 'DB') Object.assign(entry, { database_name: database.name, database_id: database.id })
  config.d1_databases?.push(...renderShards(config.d1_databases, facts.shards))
  config.r2_buckets = renderBuckets(config.r2_buckets, facts)
  const vars = { DNS_RESOLVER_URL: resolver, PUBLIC_URL: url, ...(jurisdiction && { JURISDICTION: jurisdiction }) }
  config.vars = { ...vars, ...config.vars }
  // Lines of our own are enough. Those of the platform would store the addresses of requests, which can be signed links.
  config.observability ??= { enabled: true, head_sampling_rate: 1, logs: { invocation_logs: false } }
  if (!isWorkersDev(url)) Object.assign(config, { workers_dev: false, routes: [customDomain(url)] })
  return withTwins(merge(config, own))
}

/** Without the Worker Loader the worker carries the code of isolates itself. */
function withTwins(config) {
  const hasLoader = config.worker_loaders?.some(({ binding }) => binding === 'LOADER')
  if (hasLoader || !config.build?.command) return config
  const main = config.main.replace('dist/worker/', 'dist/worker-in-process/')
  return { ...config, main, build: { ...config.build, command: `${config.build.command} in-process` } }
}

/** The databases of histories have the same tables as DB. */
const renderShards = (databases, shards = []) =>
  shards.map(({ name, id }, n) => ({
    ...databases.find(({ binding }) => binding === 'DB'),
    binding: `HISTORY_${n + 1}`,
    database_name: name,
    database_id: id,
  }))

const isWorkersDev = (url) => new URL(url).hostname.endsWith('.workers.dev')
const customDomain = (url) => ({ pattern: new URL(url).host, custom_domain: true })

const renderBuckets = (buckets = [], { bucket, backups, jurisdiction }) =>
  [...buckets, ...(backups ? [{ binding: 'BACKUPS', bucket_name: backups }] : [])]
    .filter(({ binding }) => binding !== 'BLOBS' || bucket)
    .map((entry) => ({
      ...entry,
      ...(entry.binding === 'BLOBS' && { bucket_name: bucket }),
      ...(jurisdiction && { jurisdiction }),
    }))

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Objects are merged by field, `null` removes a field, everything else replaces. */
function merge(base, over) {
  const merged = { ...base }
  for (const [name, value] of Object.entries(over))
    if (value === null) delete merged[name]
    else merged[name] = isObject(value) && isObject(base[name]) ? merge(base[name], value) : value
  return merged
}
