// Parses the arguments of `npm run deploy`.
import { parseArgs } from 'node:util'

export const locations = {
  weur: 'Western Europe',
  eeur: 'Eastern Europe',
  wnam: 'Western North America',
  enam: 'Eastern North America',
  apac: 'Asia Pacific',
  oc: 'Oceania',
}
export const jurisdictions = { eu: 'the European Union', us: 'the United States', fedramp: 'FedRAMP' }

export const help = `npm run deploy -- [options]

  --dry-run             print the plan; nothing is created, uploaded or written
  --free, --paid        the plan of the account; default: Workers Paid
  --location PLACE      where the database and the bucket are created: ${Object.keys(locations).join(', ')}
  --jurisdiction AREA   where all data must stay: ${Object.keys(jurisdictions).join(', ')}; cannot be changed later
  --name NAME           the name of the worker, its database and its bucket (talaria)
  --url ADDRESS         a domain of the account instead of workers.dev
  --subdomain NAME      the workers.dev name of an account that has none
  --account ID          which account, if the login has several
  --shards N            so many more databases for histories; tenants are moved with talaria shards
  --without-r2          no bucket: no large files and no media
  --folder DIR          where answers and secrets are kept, for several deployments (this folder)
  --config FILE         another wrangler file, for example wrangler.sandbox.toml
  --help                this text

Answers are kept in deploy.json. Secrets are kept in .deploy.vars and uploaded with the code.`

const text = { type: 'string' }
const flag = { type: 'boolean' }
const options = {
  'dry-run': flag,
  free: flag,
  paid: flag,
  location: text,
  jurisdiction: text,
  name: text,
  url: text,
  subdomain: text,
  account: text,
  'without-r2': flag,
  shards: text,
  folder: text,
  config: { ...text, short: 'c' },
  help: { ...flag, short: 'h' },
}

export function parseDeployArguments(args) {
  const { values } = parseArgs({ args, options, allowPositionals: false })
  check(values)
  const {
    free,
    paid,
    url,
    shards,
    'dry-run': isDryRun,
    'without-r2': isWithoutBucket,
    help: isHelp,
    ...others
  } = values
  return {
    ...others,
    isDryRun: isDryRun ?? false,
    isHelp: isHelp ?? false,
    shards: shards === undefined ? undefined : Number(shards),
    plan: free ? 'free' : paid && 'paid',
    url: url?.replace(/\/$/, ''),
    hasBucket: isWithoutBucket ? false : undefined,
  }
}

function check({ location, jurisdiction, free, paid, name, url, shards }) {
  if (shards !== undefined && !/^[1-9]\d{0,2}$/.test(shards)) throw new Error('--shards takes a number from 1 to 999.')
  oneOf('location', location, locations)
  oneOf('jurisdiction', jurisdiction, jurisdictions)
  if (free && paid) throw new Error('--free and --paid exclude each other.')
  if (name !== undefined && !/^[a-z0-9]([a-z0-9-]{0,52}[a-z0-9])?$/.test(name))
    throw new Error('--name takes 1 to 54 lower-case letters, digits and dashes.')
  if (url !== undefined && !/^https:\/\/[^/?#]+\/?$/.test(url))
    throw new Error('--url takes an address without a path: https://agent.example.com')
}

function oneOf(name, value, known) {
  if (value !== undefined && !Object.hasOwn(known, value))
    throw new Error(`--${name} takes one of ${Object.keys(known).join(', ')}.`)
}
