/** `talaria doctor`: checks what a working command line needs, each fault with its remedy. */

import { ApiError, createClient } from '../client.mjs'
import { readConfig } from '../config.mjs'
import { exits } from '../exits.mjs'
import { plain, print } from '../output.mjs'

const maxSkewMs = 60_000
const wantedScopes = { chat: 'chat and runs', read: 'lists', write: 'changes', approve: 'approvals', jobs: 'jobs' }

export async function run({ options }) {
  const checks = []
  const add = (name, state, detail) => checks.push({ name, state, detail })
  const { url, key } = readConfig()
  await checkServer(url, add)
  if (!key) add('key', 'failed', 'There is none. Run `talaria login URL`, or set TALARIA_API_KEY.')
  else await checkKey(createClient({ url, key }), add)
  if (options.json) print(JSON.stringify(checks))
  else for (const { name, state, detail } of checks) print(`${signs[state]} ${name}: ${plain(detail)}`)
  return checks.some(({ state }) => state === 'failed') ? exits.failed : exits.done
}

const signs = { ok: '✓', warning: '!', failed: '✗' }

async function checkServer(url, add) {
  const answer = await fetch(`${url}/health`).catch(() => undefined)
  if (!answer)
    return add('server', 'failed', `${url} cannot be reached. Start it, or name another one with TALARIA_URL.`)
  add('server', answer.ok ? 'ok' : 'failed', `${url} answers ${answer.status}.`)
  const skew = Math.abs(Date.parse(answer.headers.get('date') ?? '') - Date.now())
  if (skew > maxSkewMs) add('clock', 'warning', `The clocks differ by ${Math.round(skew / 1_000)} s. Set yours.`)
  if (url.startsWith('http:') && !/^http:\/\/(localhost|127\.|\[::1\])/.test(url))
    add('transport', 'warning', 'The key travels without encryption. Use https.')
}

async function checkKey(client, add) {
  try {
    const { tenant, key } = await client.get('/api/me')
    add('key', 'ok', `${key.name}, tenant ${tenant}${key.expires_at ? `, until ${key.expires_at}` : ''}`)
    for (const [scope, use] of Object.entries(wantedScopes))
      if (!key.scopes.includes(scope)) add('scope', 'warning', `Without "${scope}" there is no access to ${use}.`)
    checkDeployment(await client.get('/health/detailed'), add)
    if (!key.scopes.includes('read')) return
    await checkModel(client, add)
    await checkChannels(client, add)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    add('key', 'failed', error.message)
  }
}

/** The details are shown to the owner of the deployment alone. */
function checkDeployment({ status, database, bindings = {} }, add) {
  add('deployment', status === 'ok' ? 'ok' : 'failed', status)
  if (!database) return
  add('database', database === 'ok' ? 'ok' : 'failed', database)
  for (const [name, state] of Object.entries(bindings)) checkBinding(name, state, add)
}

function checkBinding(name, state, add) {
  if (!state.startsWith('absent')) return add(name, 'ok', state)
  add(name, 'warning', `${state}. Add the binding to wrangler.toml and deploy, if you need it.`)
}

/** The models that this tenant can ask, with its own keys and those of the deployment. The default is the first. */
async function checkModel(client, add) {
  const models = await client.list('/api/settings/models?limit=200')
  const providers = [...new Set(models.map(({ provider }) => provider))].filter((one) => one !== standIn)
  const [first] = models
  if (first && first.provider !== standIn) return add('model', 'ok', `${first.id}; providers: ${providers.join(', ')}`)
  const remedy = providers.length
    ? `Set model.default to a model of ${providers.join(', ')}.`
    : 'No provider has a key: set one, for example OPENAI_API_KEY, or add one on the page.'
  add('model', 'warning', `${first ? `${first.id}, which is a set of rules and no model` : 'none'}. ${remedy}`)
}

/** Answers when there is no model. */
const standIn = 'demo'

/** Platforms call the address of a webhook, so it must be public. */
async function checkChannels(client, add) {
  const channels = await client.list('/api/channels')
  for (const { platform, name, webhook_url: url = '' } of channels)
    if (url.startsWith('http:'))
      add(
        'webhook',
        'warning',
        `${name ?? platform}: ${url} is not public. Set PUBLIC_URL, and create the channel again.`,
      )
  if (channels.length) add('channels', 'ok', `${channels.length}; \`talaria channels test ID\` checks one.`)
}
