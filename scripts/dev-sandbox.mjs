// `npm run dev:sandbox [-- arguments of npm start]`: starts the server with containers. Writes wrangler.sandbox-PORT.toml,
// which adds the containers to wrangler.toml, so that a plain start or deploy needs no container engine. Before it stops,
// it saves the workspaces, because wrangler removes the containers. With `--write` it only writes wrangler.sandbox.toml, for
// `npx wrangler deploy --config wrangler.sandbox.toml`. SANDBOX_CONTAINER_API is `sdk` (default) or `native`.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readArguments } from './lib/arguments.mjs'
import { hasEngine, howToGetOne } from './lib/container-engine.mjs'
import { root } from './lib/root.mjs'
import { sandboxConfig } from './lib/sandbox-config.mjs'
import { replaceCutOff, saveContainers } from './lib/save-containers.mjs'
import { readSettings } from './lib/settings.mjs'

const watchEveryMs = 5_000

const plain = readFileSync(join(root, 'wrangler.toml'), 'utf8')
const settings = readSettings(join(root, '.dev.vars'), process.env)
const api = settings.SANDBOX_CONTAINER_API || 'sdk'
const given = process.argv.slice(2)
if (given.includes('--write')) {
  writeFileSync(join(root, 'wrangler.sandbox.toml'), sandboxConfig(plain, { api }))
  console.log('wrangler.sandbox.toml')
} else start(given)

function start(args) {
  const { port, host, persistTo } = readArguments(args)
  const id = createHash('sha256')
    .update(`${resolve(root, persistTo)}\0${port}`)
    .digest('hex')
    .slice(0, 16)
  const config = `wrangler.sandbox-${port}.toml`
  writeFileSync(join(root, config), sandboxConfig(plain, { api, server: id }))
  const isGiven = args.some((argument) => argument.startsWith('--enable-containers'))
  const client = process.env.WRANGLER_DOCKER_BIN ?? 'docker'
  // Without an engine wrangler would not start. The server starts without containers, and commands report what is missing.
  const engine = hasEngine(client)
  if (!engine && !isGiven) console.warn(howToGetOne)
  const containers = engine || isGiven ? [] : ['--enable-containers=false']
  const words = [join(root, 'scripts/start.mjs'), ...args, '--config', config, ...containers]
  const env = { ...process.env, SANDBOX_BACKEND: process.env.SANDBOX_BACKEND ?? 'cloudflare' }
  // A group of its own: Ctrl-C would reach wrangler, which removes the containers before they are saved.
  const child = spawn(process.execPath, words, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
    env,
  })
  const key = () => readSettings(join(root, '.dev.vars'), process.env).ADMIN_KEY
  const name = ['0.0.0.0', '::', '*'].includes(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host
  const server = {
    id,
    client,
    key,
    address: `http://${name}:${port}`,
    unsaved: join(resolve(root, persistTo), 'unsaved'),
  }
  if (engine) watch(server)
  endTogether(child, engine ? server : undefined)
}

/** Saves, then stops the server. The second signal stops it at once. */
function endTogether(child, server) {
  let isStopping = false
  const stop = async () => {
    if (isStopping) return child.kill('SIGTERM')
    isStopping = true
    if (server) await save(server)
    child.kill('SIGTERM')
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void stop())
  child.on('exit', (code) => process.exit(code ?? 1))
}

async function save(server) {
  try {
    const outcomes = Object.values(await saveContainers(server))
    const failed = outcomes.filter((outcome) => outcome !== 'saved' && outcome !== 'nothing')
    if (outcomes.length) console.log(`\nsaved the workspaces of ${outcomes.length - failed.length} containers`)
    for (const outcome of failed) console.error(`a workspace was not saved: ${outcome}`)
  } catch (error) {
    console.error(`\nworkspaces were not saved: ${error.message}`)
  }
}

/** A container whose network container has died does not come back by itself. */
function watch(server) {
  const look = async () => {
    const replaced = await replaceCutOff(server).catch(() => [])
    for (const { name, copy } of replaced) {
      const state = copy ? `its workspace could not be saved and is in ${copy}` : 'its workspace is restored'
      console.warn(`${name} had lost its network and was removed; ${state}`)
    }
    setTimeout(look, watchEveryMs).unref()
  }
  setTimeout(look, watchEveryMs).unref()
}
