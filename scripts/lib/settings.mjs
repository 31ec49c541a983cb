// Reads the settings of a local deployment from the environment and from `.dev.vars`; the environment wins. Missing keys
// are generated once into `.dev.vars`, readable by its owner only. Nothing from the environment is written.
import { randomBytes } from 'node:crypto'
import { chmodSync, closeSync, existsSync, linkSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

const names = new Set([
  'ADMIN_KEY',
  'ENCRYPTION_KEY',
  'MODEL',
  'FALLBACK_MODELS',
  'AUX_MODEL',
  'AI_GATEWAY_ID',
  'MODEL_CATALOG_URL',
  'ANTHROPIC_TOKEN',
  'HF_TOKEN',
  'AWS_BEARER_TOKEN_BEDROCK',
  'AWS_REGION',
  'AWS_DEFAULT_REGION',
  'GOOGLE_CLOUD_LOCATION',
  'MODEL_ADDRESS_PREFIX',
  'VERTEX_LOCATION',
  'VERTEX_SERVICE_ACCOUNT',
  'VERCEL_TOKEN',
  'VERCEL_PROJECT_ID',
  'VERCEL_TEAM_ID',
  'CORS_ORIGINS',
  'PUBLIC_URL',
  'WEB_HOST_MAP',
  'MCP_SERVERS',
  'BROWSER_CDP_URL',
  'BROWSER_CDP_GUARDED',
  'BROWSERBASE_PROJECT_ID',
  'DNS_RESOLVER_URL',
  'SEARXNG_URL',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'ENCRYPTION_KEY_PREVIOUS',
  'BACKUP_PASSPHRASE',
  'BACKUP_DAYS',
  'BACKUP_HOUR',
  'FAILPOINTS',
])
const kinds = /^[A-Z0-9_]+_(API_KEY|BASE_URL|API_BASE|AUTH_URL)$|^SANDBOX_[A-Z0-9_]+$/

/** wrangler's own credentials look like provider keys. They are not passed to the worker. */
export const isSetting = (name) => (names.has(name) || kinds.test(name)) && !/^(CLOUDFLARE_API_|WRANGLER_)/.test(name)

const fromEnvironment = (environment) =>
  Object.fromEntries(Object.entries(environment).filter(([name, value]) => isSetting(name) && value !== ''))

const makers = {
  ADMIN_KEY: () => randomBytes(24).toString('base64url'),
  ENCRYPTION_KEY: () => randomBytes(32).toString('base64'),
}

/** The keys that are generated when they are missing. */
export const keyNames = Object.keys(makers)

const localHeadline = '# Local settings and secrets, see README.md. Not committed.'

export function readSettings(file, environment) {
  const given = fromEnvironment(environment)
  const stored = parseEnv(existsSync(file) ? readFileSync(file, 'utf8') : '')
  const missing = keyNames.filter((name) => !given[name] && !stored[name])
  const settings = { ...(missing.length ? generateKeys(file, missing) : stored), ...given }
  check(settings)
  return settings
}

/** Adds these keys to the file and returns all that it has. `headline` begins a new file. */
export function generateKeys(file, missing, headline = localHeadline) {
  const lines = missing.map((name) => `${name}="${makers[name]()}"\n`).join('')
  if (existsSync(file)) {
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text === '' || text.endsWith('\n') ? lines : `\n${lines}`, { flag: 'a' })
  } else create(file, `${headline}\n${lines}`)
  chmodSync(file, 0o600)
  return parseEnv(readFileSync(file, 'utf8'))
}

/** A link fails when the file exists, so two first starts at the same time use the same keys. */
function create(file, text) {
  const draft = `${file}.${process.pid}`
  const handle = openSync(draft, 'wx', 0o600)
  writeFileSync(handle, text)
  closeSync(handle)
  try {
    linkSync(draft, file)
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
}

function check({ ADMIN_KEY, ENCRYPTION_KEY }) {
  if (ADMIN_KEY.length < 16) throw new Error('ADMIN_KEY must have at least 16 characters')
  if (Buffer.from(ENCRYPTION_KEY, 'base64').length !== 32)
    throw new Error('ENCRYPTION_KEY has to be 32 bytes in base64, for example from: openssl rand -base64 32')
}
