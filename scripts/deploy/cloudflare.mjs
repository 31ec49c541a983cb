// Calls Cloudflare's API for what a deployment needs before its code: account, plan, address, database and bucket.

const defaultBase = 'https://api.cloudflare.com/client/v4'

/** A refusal of the API. `code` is the number that the documentation of errors lists. */
export class CloudflareError extends Error {
  constructor(message, { code, status } = {}) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** Sends JSON or a form. */
function send(url, { method, headers }, body) {
  const isJson = body !== undefined && !(body instanceof FormData)
  const init = isJson
    ? { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
    : { headers, body }
  return fetch(url, { method, ...init, signal: AbortSignal.timeout(60_000) }).catch((error) => {
    throw new CloudflareError(`${new URL(url).host} cannot be reached: ${error.cause?.message ?? error.message}`)
  })
}

/** `headers` authenticate: those of the login of wrangler. */
export function createCloudflare({ headers, base = process.env.CLOUDFLARE_API_BASE_URL || defaultBase }) {
  async function call(method, path, body) {
    const answer = await send(`${base}${path}`, { method, headers }, body)
    const parsed = await answer.json().catch(() => undefined)
    if (answer.ok && parsed?.success !== false) return parsed ?? {}
    const [{ code, message } = {}] = parsed?.errors ?? []
    throw new CloudflareError(message ?? `Cloudflare answered ${answer.status}.`, { code, status: answer.status })
  }
  const get = async (path) => (await call('GET', path)).result
  return {
    call,
    get,
    /** The same API with further headers. */
    within: (more) => createCloudflare({ headers: { ...headers, ...more }, base }),
    /** All pages of a list that counts its pages. */
    async list(path) {
      const found = []
      for (let page = 1; ; page++) {
        const { result, result_info: info } = await call('GET', `${path}?page=${page}&per_page=50`)
        found.push(...result)
        if (!result.length || found.length >= (info?.total_count ?? 0)) return found
      }
    },
  }
}

/** The account with this id, or the only one of the login. */
export async function chooseAccount(api, wanted) {
  const accounts = await api.list('/accounts')
  const list = accounts.map(({ id, name }) => `  ${id}  ${name}`).join('\n')
  if (wanted !== undefined) {
    const found = accounts.find(({ id }) => id === wanted)
    if (!found) throw new Error(`This login has no account ${wanted}. It has:\n${list}`)
    return found
  }
  if (!accounts.length)
    throw new Error('This login has no account. A token needs the permission Account Settings: Read.')
  if (accounts.length > 1) throw new Error(`This login has several accounts. Choose one with --account ID:\n${list}`)
  return accounts[0]
}

/** Refusals of what only Workers Paid has: a CPU limit, and the Worker Loader in its newer and its older form. */
const paidOnly = new Map([
  [100_328, () => true],
  [10_195, () => true],
  [10_021, (message) => /worker_loader/.test(message)],
])

export const needsPaidPlan = ({ code, message = '' }) => paidOnly.get(code)?.(message) ?? false

/**
 * Whether the account accepts these paid features. No route of the API names the plan to a login of wrangler, therefore an
 * empty worker with the same features is uploaded, without an address, and deleted.
 */
export async function checkPaidPlan(api, { account, name, config }) {
  const script = `/accounts/${account}/workers/scripts/${name}-plan-check`
  const bindings = (config.worker_loaders ?? []).map(({ binding }) => ({ type: 'worker_loader', name: binding }))
  const metadata = {
    main_module: 'index.js',
    compatibility_date: config.compatibility_date,
    bindings,
    ...(config.limits && { limits: config.limits }),
  }
  const form = new FormData()
  form.set('metadata', new Blob([JSON.stringify(metadata)], { type: 'application/json' }))
  const code = 'export default { fetch: () => new Response(null, { status: 404 }) }'
  form.set('index.js', new File([code], 'index.js', { type: 'application/javascript+module' }))
  try {
    await api.call('PUT', script, form)
  } catch (error) {
    if (error instanceof CloudflareError && needsPaidPlan(error)) return { isPaid: false, error }
    throw error
  }
  await api.call('DELETE', script)
  return { isPaid: true }
}

const notFound = (error) => {
  if (error.status === 404) return undefined
  throw error
}

/** The name below workers.dev, if the account has one. */
export const findSubdomain = async (api, account) =>
  (await api.get(`/accounts/${account}/workers/subdomain`).catch(notFound))?.subdomain

export const createSubdomain = async (api, account, subdomain) =>
  (await api.call('PUT', `/accounts/${account}/workers/subdomain`, { subdomain })).result.subdomain

export const findWorker = async (api, account, name) => {
  const settings = await api.get(`/accounts/${account}/workers/scripts/${name}/settings`).catch(notFound)
  return (
    settings && { secrets: (settings.bindings ?? []).filter(({ type }) => type === 'secret_text').map((b) => b.name) }
  )
}

export const listDatabases = (api, account) => api.list(`/accounts/${account}/d1/database`)

export const createDatabase = async (api, account, { name, location, jurisdiction }) =>
  (
    await api.call('POST', `/accounts/${account}/d1/database`, {
      name,
      // With a jurisdiction, the hint is ignored.
      ...(jurisdiction ? { jurisdiction } : location && { primary_location_hint: location }),
    })
  ).result

/** Buckets with a jurisdiction have a namespace of their own, which a header selects. */
const inJurisdiction = (api, jurisdiction) => (jurisdiction ? api.within({ 'cf-r2-jurisdiction': jurisdiction }) : api)

export const findBucket = (api, account, { name, jurisdiction }) =>
  inJurisdiction(api, jurisdiction).get(`/accounts/${account}/r2/buckets/${name}`).catch(notFound)

export const createBucket = async (api, account, { name, location, jurisdiction }) =>
  (
    await inJurisdiction(api, jurisdiction).call('POST', `/accounts/${account}/r2/buckets`, {
      name,
      ...(!jurisdiction && location && { locationHint: location }),
    })
  ).result
