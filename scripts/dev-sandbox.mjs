// `npm run dev:sandbox [-- arguments of npm start]`: starts the server with containers. Writes wrangler.sandbox.toml, which
// adds the containers to wrangler.toml, so that a plain start or deploy needs no container engine. With `--write` it only
// writes the file, for `npx wrangler deploy --config wrangler.sandbox.toml`.
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hasEngine, howToGetOne } from './lib/container-engine.mjs'
import { root } from './lib/root.mjs'
import { sandboxConfig } from './lib/sandbox-config.mjs'

writeFileSync(join(root, 'wrangler.sandbox.toml'), sandboxConfig(readFileSync(join(root, 'wrangler.toml'), 'utf8')))
const given = process.argv.slice(2)
if (given.includes('--write')) console.log('wrangler.sandbox.toml')
else start(given)

function start(args) {
  const isGiven = args.some((argument) => argument.startsWith('--enable-containers'))
  // Without an engine wrangler would not start. The server starts without containers, and commands report what is missing.
  const engine = isGiven || hasEngine(process.env.WRANGLER_DOCKER_BIN)
  if (!engine) console.warn(howToGetOne)
  const containers = isGiven ? [] : [`--enable-containers=${engine}`]
  const words = [join(root, 'scripts/start.mjs'), ...args, '--config', 'wrangler.sandbox.toml', ...containers]
  const env = { ...process.env, SANDBOX_BACKEND: process.env.SANDBOX_BACKEND ?? 'cloudflare' }
  const child = spawn(process.execPath, words, { cwd: root, stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code) => process.exit(code ?? 1))
}
