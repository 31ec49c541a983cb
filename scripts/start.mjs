// `npm start`: generates missing keys, migrates the local database, builds, starts the server and prints its address.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { help, readArguments } from './lib/arguments.mjs'
import { announce } from './lib/announce.mjs'
import { startFront } from './lib/front.mjs'
import { startResolver } from './lib/local-resolver.mjs'
import { migrateLocally } from './lib/migrations.mjs'
import { requirePort } from './lib/ports.mjs'
import { root } from './lib/root.mjs'
import { entryOf } from './lib/sandbox-config.mjs'
import { readSettings } from './lib/settings.mjs'
import { requireWritable } from './lib/state-folder.mjs'
import { wranglerDev } from './lib/wrangler.mjs'

const startTimeoutMs = 120_000

/** npm puts the Node of the project first on the path. Another one is used when this file is run directly. */
function requireNode() {
  if (!process.features.typescript)
    throw new Error(`This Node (${process.version}) cannot run the sources. Start with: npm start`)
}

async function start(options) {
  await requirePort(options.port, options.host)
  requireWritable(root, `The folder ${root}`)
  const settings = readSettings(join(root, '.dev.vars'), process.env)
  // Loaded late: the sources are TypeScript, which older versions of Node cannot run.
  const { describeModel, listModelWarnings } = await import('./lib/model.mjs')
  const bindings = /^\[ai\]/m.test(readFileSync(join(root, 'wrangler.toml'), 'utf8')) ? { AI: 'binding' } : {}
  const model = describeModel({ ...settings, ...bindings })
  for (const warning of listModelWarnings({ ...settings, ...bindings })) console.warn(`note: ${warning}`)
  settings.DNS_RESOLVER_URL ??= await startResolver()
  if (!settings.BROWSER_CDP_URL) Object.assign(settings, await prepareBrowser(settings))
  const persistTo = resolve(root, options.persistTo)
  requireWritable(persistTo)
  await Promise.all([migrateLocally(persistTo), build(options)])
  const server = wranglerDev(argumentsFor(options, persistTo, settings), settings)
  endTogether(server)
  await startFront(options, watchTarget(server, options.rest), {
    onLost: () => endLost(server, 'The runtime has not answered for two minutes'),
  })
  await ready(server, options)
  await announce(address(options.host, options.port), { ...options, key: settings.ADMIN_KEY, model })
}

/** The Chromium of the system, if there is one. The browser tools are hidden without it. */
async function prepareBrowser({ CHROME_PATH }) {
  // Loaded late, as the sources that they import.
  const [{ findChromium }, { serveBrowser }] = await Promise.all([
    import('./lib/chromium.mjs'),
    import('./lib/local-browser.mjs'),
  ])
  const path = findChromium({ CHROME_PATH, ...process.env })
  return path === undefined ? {} : { BROWSER_CDP_URL: await serveBrowser(path), BROWSER_CDP_GUARDED: 'true' }
}

/** Options of wrangler that its own proxy serves. */
const proxied = /^--(remote|https-|local-protocol|local-upstream|upstream-protocol)/

/** Follows the address that the server reports, and returns what tells it. */
function watchTarget(server, rest) {
  const wanted = rest.some((argument) => proxied.test(argument)) ? 'DEV_SERVER_READY' : 'RUNTIME_READY'
  let target
  server.on('message', (message) => {
    const { event, host, ip = host, port } = typeof message === 'string' ? JSON.parse(message) : message
    if (event === wanted) target = { host: ip, port }
    if (event === 'RUNTIME_LOST') endLost(server, 'The runtime has crashed and could not be restarted')
  })
  return () => target
}

/** wrangler goes on without a runtime that it could not restart. */
function endLost(server, reason) {
  console.error(`\n${reason}, so the server ends. Start it again: nothing is lost.`)
  server.kill('SIGKILL')
}

function argumentsFor({ rest }, persistTo, settings) {
  // `warn` shows errors without a log line per request. Failpoints print at the level `log`.
  const level = rest.some((argument) => argument.startsWith('--log-level'))
    ? []
    : ['--log-level', settings.FAILPOINTS ? 'log' : 'warn']
  const inspector = rest.some((argument) => argument.startsWith('--inspector-port')) ? [] : ['--inspector-port', '0']
  return ['--port', '0', '--ip', '127.0.0.1', '--persist-to', persistTo, ...level, ...inspector, ...rest]
}

/** The entry that the configuration of `--config` serves. */
function entryIn(rest) {
  const config = rest[rest.indexOf('--config') + 1]
  return rest.includes('--config') ? [entryOf(readFileSync(resolve(root, config), 'utf8')) ?? 'index'] : []
}

/** Runs before wrangler watches the folder, because a later build would restart the server. */
const build = ({ rest }) =>
  new Promise((done, failed) => {
    const child = spawn(process.execPath, [join(root, 'scripts/build-worker.mjs'), ...entryIn(rest)], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    child.on('exit', (code) => (code === 0 ? done() : failed(new Error('The worker could not be built'))))
  })

/** Ends both processes together: forwards signals to the server and exits when it exits. */
function endTogether(server) {
  let stopping = false
  const stop = () => {
    if (stopping) return server.kill('SIGKILL')
    stopping = true
    server.kill('SIGTERM')
    setTimeout(() => server.kill('SIGKILL'), 5000).unref()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  process.on('SIGHUP', stop)
  // npm forwards signals only to its shell. When that has ended, this process has another parent and stops.
  const parent = process.ppid
  if (process.env.npm_lifecycle_event) setInterval(() => process.ppid !== parent && !stopping && stop(), 500).unref()
  server.on('exit', (code) => process.exit(stopping ? 0 : (code ?? 1)))
}

async function ready(server, { host, port }) {
  const listening = new Promise((yes) =>
    server.on('message', (message) => String(message).includes('DEV_SERVER_READY') && yes(true)),
  )
  const deadline = Date.now() + startTimeoutMs
  await Promise.race([listening, delay(startTimeoutMs, undefined, { ref: false })])
  let answer = 'nothing'
  while (Date.now() < deadline) {
    const response = await fetch(`${address(host, port)}/health`, { method: 'GET' }).catch(() => undefined)
    if (response?.status === 200) return
    if (response) answer = `${response.status} ${(await response.text()).slice(0, 500)}`
    await delay(100)
  }
  server.kill('SIGKILL')
  throw new Error(
    `The server did not become ready within ${startTimeoutMs / 1000} seconds. GET /health answered: ${answer}`,
  )
}

const address = (host, port) => {
  const name = ['0.0.0.0', '::', '*'].includes(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}

try {
  requireNode()
  const options = readArguments(process.argv.slice(2))
  if (options.help) console.log(help)
  else await start(options)
} catch (error) {
  console.error(`\n${error.message}`)
  process.exit(1)
}
