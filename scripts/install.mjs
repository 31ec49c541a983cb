// Installs the dependencies of package-lock.json when node_modules differs from it. Runs before every npm script that needs
// them, and takes a few milliseconds when nothing changed. Must run on Node 20 with nothing installed.
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
  // After a manual `npm ci` only the stamp is missing.
  if (!matches(lock, read(hiddenLockFile))) install()
  writeFileSync(stampFile, wanted)
}

function install() {
  console.log('Installing dependencies …')
  const clean = npm(['ci', '--loglevel=error'])
  if (clean.status === 0) return
  // A registry without builds for other systems makes a lock file that `npm ci` calls incomplete. `npm install` accepts it;
  // the check below ensures that every version is the locked one.
  const incomplete = /EUSAGE/.test(clean.stderr ?? '')
  const installed = incomplete ? npm(['install', '--no-save', '--loglevel=error']) : clean
  if (installed.status === 0 && matches(lock, read(hiddenLockFile))) return
  fail(installed.status === 0 ? clean : installed)
}

function npm(args) {
  // Use the Node that runs npm: `npm ci` deletes the one in node_modules.
  const { npm_node_execpath: node, npm_execpath: script } = process.env
  const options = { cwd: root, stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8', maxBuffer: 64 << 20 }
  const all = [...args, '--no-fund', '--no-audit']
  return node && script && existsSync(node)
    ? spawnSync(node, [script, ...all], options)
    : spawnSync('npm', all, { ...options, shell: process.platform === 'win32' })
}

function fail({ status, error, stderr }) {
  console.error(
    [
      stderr,
      `Installing the dependencies failed${error ? `: ${error.message}` : ` (npm ended with ${status})`}.`,
      'The output of npm is above. Usual causes: no network to the npm registry, no write access to this folder, or',
      'a package-lock.json that does not fit package.json (then run `npm install` once and commit the lock file).',
    ].join('\n'),
  )
  process.exit(1)
}
