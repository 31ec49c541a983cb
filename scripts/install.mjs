// Runs before `npm start`, `npm test` and `npm run deploy`: installs exactly what package-lock.json names, when that is
// not what node_modules holds. Costs a few milliseconds otherwise. Has to run on Node 20 with nothing installed.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './lib/root.mjs'
import { fingerprint, matches } from './lib/lockfile.mjs'

const lockFile = join(root, 'package-lock.json')
const stampFile = join(root, 'node_modules/.talaria-lock')
const hiddenLockFile = join(root, 'node_modules/.package-lock.json')
const read = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined)

const lock = read(lockFile)
const wanted = fingerprint(lock)
if (read(stampFile) !== wanted) {
  // Somebody may have run `npm ci` by hand: then there is nothing to do but to remember it.
  if (!matches(lock, read(hiddenLockFile))) install()
  writeFileSync(stampFile, wanted)
}

function install() {
  console.log('Installing dependencies (npm ci) …')
  // The Node that runs npm, not the one in node_modules, which `npm ci` is about to delete.
  const { npm_node_execpath: node, npm_execpath: npm } = process.env
  const options = { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }
  const quiet = ['ci', '--no-fund', '--no-audit', '--loglevel=error']
  const { status, error } =
    node && npm && existsSync(node)
      ? spawnSync(node, [npm, ...quiet], options)
      : spawnSync('npm', quiet, { ...options, shell: process.platform === 'win32' })
  if (status === 0) return
  console.error(
    [
      '',
      `Installing the dependencies failed${error ? `: ${error.message}` : ` (npm ci ended with ${status})`}.`,
      'What npm said is above. Usual causes: no network to the npm registry, no write access to this folder, or',
      'a package-lock.json that does not fit package.json (then run `npm install` once and commit the lock file).',
    ].join('\n'),
  )
  process.exit(1)
}
