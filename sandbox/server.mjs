// Starts the reference server of the `http` backend (`npm run sandbox -- --port N`). Plain Node, no dependencies.

import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createApp } from './app.mjs'
import { createGuard, startEgress } from './egress.mjs'
import { detectIsolation, explainMissingForwarder, warnings } from './isolation.mjs'
import { readLimits } from './limits.mjs'

const help = `npm run sandbox -- [options]

  --port N      port to listen on (8788)
  --host NAME   address to listen on (127.0.0.1; others only behind TLS)
  --net         commands may reach public addresses by HTTP and HTTPS
  --plain       no isolation, even where it is available

SANDBOX_HTTP_TOKEN  the key that clients send; generated and printed when it is not set
SANDBOX_ROOT        folder of the workspaces (a folder in your cache)
SANDBOX_BIND        further paths of this host that commands may read (comma list)
SANDBOX_PORTS       ports that --net opens (80,443); SANDBOX_ALLOWED_HOSTS: its hosts (default all public ones)
SANDBOX_HOST_MAP    JSON {"name":"http://address"} that opens single addresses of an intranet by a public name
SANDBOX_*           limits: sandbox/limits.mjs lists them`

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8788' },
    host: { type: 'string', default: '127.0.0.1' },
    net: { type: 'boolean', default: false },
    plain: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const taken = ['net', 'plain', 'port', 'host'].filter((name) => process.env[`npm_config_${name}`] !== undefined)

if (values.help) console.log(help)
else if (taken.length && process.env.npm_lifecycle_event === 'sandbox')
  stop(`npm has taken --${taken.join(' and --')} for itself. Write two dashes before the options: npm run sandbox -- --${taken[0]}`)
else start(values)

function start({ port, host, net, plain }) {
  const { SANDBOX_HTTP_TOKEN, SANDBOX_ROOT, XDG_CACHE_HOME } = process.env
  const token = SANDBOX_HTTP_TOKEN || randomBytes(24).toString('base64url')
  if (token.length < 16) stop('SANDBOX_HTTP_TOKEN must have at least 16 characters.')
  const root = resolve(SANDBOX_ROOT || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'talaria-sandbox'))
  mkdirSync(root, { recursive: true, mode: 0o700 })
  const limits = readLimits(process.env)
  const missing = net && !plain ? explainMissingForwarder() : undefined
  if (missing) stop(missing)
  const egressFolder = net && !plain ? startEgress(root, createGuard(egressOptions(process.env))).folder : undefined
  const binds = listOf(process.env.SANDBOX_BIND)
  const sandbox = detectIsolation({ limits, network: net, plain, egressFolder, binds })
  const server = createApp({ root, token, sandbox, limits, version: versionOf() })
  server.on('error', (error) => stop(`${host}:${port}: ${error.message}`))
  server.listen(Number(port), host, () =>
    announce(server.address(), { token, given: SANDBOX_HTTP_TOKEN, root, sandbox }),
  )
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(0))
}

function listOf(text = '') {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
}

function egressOptions({ SANDBOX_PORTS, SANDBOX_ALLOWED_HOSTS, SANDBOX_HOST_MAP }) {
  const ports = listOf(SANDBOX_PORTS || '80,443').map(Number)
  return {
    ports,
    ...(SANDBOX_ALLOWED_HOSTS && { hosts: listOf(SANDBOX_ALLOWED_HOSTS) }),
    ...(SANDBOX_HOST_MAP && { map: JSON.parse(SANDBOX_HOST_MAP) }),
  }
}

function announce({ address, port }, { token, given, root, sandbox }) {
  for (const line of warnings(sandbox)) console.warn(`!! ${line}`)
  const name = address.includes(':') ? `[${address}]` : address
  console.log(`Talaria sandbox on http://${name}:${port}`)
  console.log(
    `isolation: ${sandbox.isolation}, limits: ${sandbox.limiting}, network: ${sandbox.egress}`,
  )
  console.log(`workspaces: ${root}`)
  if (!given) console.log(`key: ${token}`)
}

function versionOf() {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

function stop(text) {
  console.error(text)
  process.exit(1)
}
