// The steps of a deployment, in order. Each can be repeated: it takes what exists and creates what is missing. A step
// returns one line that says what it found or did. In a dry run it changes nothing and says what it would do.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseEnv } from 'node:util'
import { generateKeys, keyNames } from '../lib/settings.mjs'
import { jurisdictions, locations } from './arguments.mjs'
import {
  checkPaidPlan,
  chooseAccount,
  createBucket,
  createCloudflare,
  createDatabase,
  createSubdomain,
  findBucket,
  findSubdomain,
  findWorker,
  listDatabases,
  needsPaidPlan,
} from './cloudflare.mjs'
import { isPlaceholder, renderConfig } from './render-config.mjs'
import { runWrangler } from './run-wrangler.mjs'

/** A new name below workers.dev answers when its certificate is there, which takes up to some minutes. */
const healthTimeoutMs = 180_000

export const steps = [
  { name: 'account', run: findAccount },
  { name: 'plan', run: checkPlan },
  { name: 'place', run: choosePlace },
  { name: 'address', run: chooseAddress },
  { name: 'database', run: prepareDatabases, doesChange: true },
  { name: 'files', run: prepareBuckets, doesChange: true },
  { name: 'keys', run: prepareKeys, doesChange: true },
  { name: 'schema', run: migrate, doesChange: true },
  { name: 'worker', run: deployWorker, doesChange: true },
  { name: 'health', run: waitUntilHealthy },
]

async function findAccount(run) {
  const headers = await readLogin()
  run.api = createCloudflare({ headers })
  const wanted = run.options.account ?? run.facts.account ?? (process.env.CLOUDFLARE_ACCOUNT_ID || undefined)
  const { id, name } = await chooseAccount(run.api, wanted).catch(explainLogin)
  run.facts.name = run.options.name ?? run.facts.name ?? run.plain.name
  run.learn({ account: id })
  run.worker = await findWorker(run.api, id, run.facts.name)
  return `${name} (${id})`
}

function explainLogin(error) {
  if (error.status !== 401 && error.status !== 403) throw error
  const refused = `Cloudflare refuses the login (${error.message} [code: ${error.code}]).`
  throw new Error(`${refused} Run \`npx wrangler login\` again, or check CLOUDFLARE_API_TOKEN and its permissions.`, {
    cause: error,
  })
}

async function readLogin() {
  const { CLOUDFLARE_API_KEY: globalKey, CLOUDFLARE_API_TOKEN: given } = process.env
  // wrangler, which prefers the global key, would say the same after a second.
  if (given && !globalKey) return { authorization: `Bearer ${given}` }
  const printed = await runWrangler(['auth', 'token', '--json']).catch((error) => {
    const advice = 'There is no login. Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN.'
    throw new Error(`${advice}\n${error.message}`, { cause: error })
  })
  const { type, token, key, email } = JSON.parse(printed)
  return type === 'api_key' ? { 'x-auth-key': key, 'x-auth-email': email } : { authorization: `Bearer ${token}` }
}

async function checkPlan(run) {
  const { api, facts, options, plain, isDryRun } = run
  const plan = options.plan ?? facts.plan ?? 'paid'
  if (plan === 'free') {
    run.learn({ plan })
    return 'Workers Free: the parts of Workers Paid are left out (docs/deploy.md)'
  }
  // The plan of a worker that runs was checked before.
  if (facts.plan === 'paid' && run.worker) return 'Workers Paid'
  if (isDryRun) return 'Workers Paid (is checked by uploading and deleting an empty worker)'
  const { isPaid, error } = await checkPaidPlan(api, { account: facts.account, name: facts.name, config: plain })
  if (!isPaid) throw new Error(explainPlan(facts.account, error))
  run.learn({ plan })
  return 'Workers Paid'
}

export const explainPlan = (account, { code, message }) =>
  [
    `The account has no Workers Paid plan, which costs $5 a month (Cloudflare: ${message} [code: ${code}]).`,
    `  Subscribe: https://dash.cloudflare.com/${account}/workers/plans`,
    '  Or deploy what the free plan can run: npm run deploy -- --free',
  ].join('\n')

/** Asked once, at the first deployment: neither can be changed where data exists. */
async function choosePlace(run) {
  const { facts, options } = run
  run.database = (await listDatabases(run.api, facts.account)).find(isOurs(run))
  run.learn({ jurisdiction: await chooseJurisdiction(run) })
  run.learn({ location: options.location ?? facts.location ?? (await askLocation(run)) })
  if (facts.jurisdiction) return `only ${jurisdictions[facts.jurisdiction]}`
  return facts.location ? locations[facts.location] : 'chosen by Cloudflare'
}

/** The existing deployment decides: objects in another jurisdiction would be other, empty objects. */
async function chooseJurisdiction({ facts, options, database, ask }) {
  const { jurisdiction: wanted } = options
  if (database) return requireSame(wanted, database)
  if (facts.jurisdiction === undefined) return wanted ?? (await ask('jurisdiction', jurisdictions))
  return requireSame(wanted, facts)
}

/** A jurisdiction is a place already. */
const askLocation = ({ facts, database, ask }) =>
  database || facts.jurisdiction ? null : facts.location === undefined ? ask('location', locations) : null

function requireSame(wanted, { name, jurisdiction }) {
  const held = jurisdiction ?? null
  if (wanted !== undefined && wanted !== held)
    throw new Error(
      `The data of ${name} is in ${held ?? 'no jurisdiction'}, which cannot be changed. Deploy another one with --name and --folder.`,
    )
  return held
}

/** The id decides, if one is known: that of deploy.json, or one that its owner wrote into wrangler.toml. */
const isOurs = (run) => {
  const { id, name } = wantedDatabase(run)
  return id ? ({ uuid }) => uuid === id : (one) => one.name === name
}

function wantedDatabase({ facts, plain }) {
  const written = plain.d1_databases?.find(({ binding }) => binding === 'DB')?.database_id
  const id = facts.database?.id ?? (isPlaceholder(written) ? undefined : written)
  return { id, name: facts.database?.name ?? facts.name }
}

async function chooseAddress(run) {
  const { api, facts, options, isDryRun } = run
  const url = options.url ?? facts.url
  if (url) {
    run.learn({ url })
    return url
  }
  const found = await findSubdomain(api, facts.account)
  const wanted = options.subdomain ?? `${facts.name}-${facts.account.slice(0, 8)}`
  const subdomain = found ?? (isDryRun ? wanted : await createSubdomain(api, facts.account, wanted))
  run.learn({ url: `https://${facts.name}.${subdomain}.workers.dev` })
  return found ? facts.url : `${facts.url} (new name ${subdomain}.workers.dev of the account)`
}

async function prepareDatabases(run) {
  const lines = [await prepareDatabase(run), await prepareShards(run)]
  return lines.filter(Boolean).join(', ')
}

async function prepareDatabase(run) {
  const { api, facts, isDryRun, database } = run
  const { id, name } = wantedDatabase(run)
  if (database) {
    run.learn({ database: { name: database.name, id: database.uuid } })
    return `${database.name} exists`
  }
  if (id)
    throw new Error(
      `The account has no database ${id}, which ${facts.database ? 'deploy.json' : 'wrangler.toml'} names. Is it the right account? To begin with an empty one, remove the id.`,
    )
  if (isDryRun) {
    run.learn({ database: { name, id: 'new' } })
    return `${name} would be created`
  }
  const { location, jurisdiction } = facts
  const made = await createDatabase(api, facts.account, { name, location, jurisdiction })
  run.learn({ database: { name, id: made.uuid } })
  return `${name} created`
}

/** Databases of histories: the binding of each is its number, so none is ever removed. */
async function prepareShards(run) {
  const { api, facts, options, isDryRun } = run
  const { account, location, jurisdiction } = facts
  const known = facts.shards ?? []
  const wanted = Math.max(known.length, options.shards ?? 0)
  if (options.shards !== undefined && options.shards < known.length)
    throw new Error(`The deployment has ${known.length} databases of histories, and none can be removed.`)
  if (!wanted) return undefined
  const existing = await listDatabases(api, account)
  const shards = [...known]
  for (let n = known.length + 1; n <= wanted; n++) {
    const name = `${facts.name}-history-${n}`
    const found = existing.find((one) => one.name === name)?.uuid
    const create = async () => (await createDatabase(api, account, { name, location, jurisdiction })).uuid
    shards.push({ name, id: found ?? (isDryRun ? 'new' : await create()) })
    run.learn({ shards: [...shards] })
  }
  const added = wanted - known.length
  return `${wanted} databases of histories${added ? `, ${added} ${isDryRun ? 'would be ' : ''}added` : ''}`
}

async function prepareBuckets(run) {
  const { facts, options, plain } = run
  const hasBucket = options.hasBucket ?? facts.bucket !== null
  const names = (plain.r2_buckets ?? [])
    .filter(({ binding }) => binding !== 'BLOBS' || hasBucket)
    .map(({ binding, bucket_name }) => (binding === 'BLOBS' ? (facts.bucket ?? `${facts.name}-blobs`) : bucket_name))
  if (hasBucket && wantsBackups(run)) run.learn({ backups: facts.backups ?? `${facts.name}-backups` })
  if (facts.backups) names.push(facts.backups)
  const lines = []
  for (const name of names) lines.push(await prepareBucket(run, name))
  run.learn({ bucket: hasBucket ? (facts.bucket ?? `${facts.name}-blobs`) : null })
  return lines.join(', ') || 'none: no large files and no media'
}

/** A bucket that exists keeps its binding, also when the passphrase is removed: it has backups. */
const wantsBackups = ({ files, worker }) =>
  Boolean(readSecrets(files).BACKUP_PASSPHRASE) || (worker?.secrets ?? []).includes('BACKUP_PASSPHRASE')

const readSecrets = ({ secrets }) => (existsSync(secrets) ? parseEnv(readFileSync(secrets, 'utf8')) : {})

async function prepareBucket({ api, facts, isDryRun }, name) {
  const { account, location, jurisdiction } = facts
  try {
    if (await findBucket(api, account, { name, jurisdiction })) return `${name} exists`
    if (isDryRun) return `${name} would be created`
    await createBucket(api, account, { name, location, jurisdiction })
    return `${name} created`
  } catch (error) {
    if (error.code === r2Disabled) throw new Error(explainR2(account), { cause: error })
    throw error
  }
}

/** R2 needs a subscription of its own, also for its free part. */
const r2Disabled = 10_042
const explainR2 = (account) =>
  `The account has not enabled R2: https://dash.cloudflare.com/${account}/r2\n  Or deploy without files and media: npm run deploy -- --without-r2`

const secretsHeadline =
  '# Secrets and variables of the deployment, uploaded by `npm run deploy`. Not committed. Keep a copy.'

/** The keys that neither the file nor the worker has are generated. Those of the worker cannot be read back. */
function prepareKeys(run) {
  const { files, worker, isDryRun } = run
  const stored = readSecrets(files)
  const held = new Set(worker?.secrets)
  const missing = keyNames.filter((name) => !stored[name] && !held.has(name))
  run.secrets = missing.length && !isDryRun ? generateKeys(files.secrets, missing, secretsHeadline) : stored
  const names = Object.keys(run.secrets).filter((name) => !missing.includes(name))
  run.config = renderConfig(run.plain, run.facts)
  // A name can be a variable or a secret, not both.
  for (const name of [...held, ...Object.keys(run.secrets)]) delete run.config.vars[name]
  const verb = isDryRun ? 'would be generated' : 'generated'
  const done = missing.length ? `${missing.join(', ')} ${verb} in .deploy.vars` : ''
  return [done, names.length ? `${names.join(', ')} from .deploy.vars` : '', keptText(held, run.secrets)]
    .filter(Boolean)
    .join('; ')
}

function keptText(held, secrets) {
  const kept = [...held].filter((name) => !(name in secrets))
  return kept.length ? `${kept.join(', ')} stay as the worker has them` : ''
}

async function migrate(run) {
  if (run.isDryRun) return 'migrations would be applied'
  writeFileSync(run.files.config, `${JSON.stringify(run.config, null, 2)}\n`)
  let isChanged = false
  for (const { binding } of run.config.d1_databases.filter(({ migrations_dir: folder }) => folder)) {
    const printed = await runWrangler(['d1', 'migrations', 'apply', binding, '--remote', '--config', run.files.config])
    isChanged ||= !/No migrations to apply/.test(printed)
  }
  return isChanged ? 'migrations applied' : 'up to date'
}

async function deployWorker(run) {
  const { facts, files, isDryRun, secrets } = run
  if (isDryRun) return `${facts.name} would be built and uploaded`
  const secretsFile = join(files.folder, `.deploy.secrets.${process.pid}.json`)
  writeFileSync(secretsFile, JSON.stringify(secrets), { mode: 0o600 })
  try {
    const printed = await runWrangler(['deploy', '--config', files.config, '--secrets-file', secretsFile])
    const [, version] = /Current Version ID: (\S+)/.exec(printed) ?? []
    return `${facts.name} deployed${version ? `, version ${version}` : ''}`
  } catch (error) {
    const message = /worker_loader/.test(error.output ?? '') ? 'worker_loader' : error.message
    if (needsPaidPlan({ code: error.code, message })) throw planError(facts.account, error)
    throw error
  } finally {
    rmSync(secretsFile, { force: true })
  }
}

const planError = (account, error) =>
  new Error(explainPlan(account, { code: error.code, message: 'the upload was refused' }), { cause: error })

async function waitUntilHealthy({ facts, isDryRun }) {
  if (isDryRun) return `waits for ${facts.url}/health`
  await waitForHealth(facts.url)
  return 'answers'
}

export async function waitForHealth(url, { timeoutMs = healthTimeoutMs, pauseMs = 1_000 } = {}) {
  const deadline = Date.now() + timeoutMs
  for (let last = 'nothing'; ; await delay(pauseMs)) {
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(10_000) }).catch((error) => {
      last = error.cause?.message ?? error.message
    })
    if (answer?.ok) return
    if (answer) last = `status ${answer.status}`
    if (Date.now() > deadline)
      throw new Error(
        `The worker is deployed, but ${url}/health does not answer (${last}). A new name takes some minutes: try the address.`,
      )
  }
}
