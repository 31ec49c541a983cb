// Runs before every npm script that needs a dependency: installs exactly what package-lock.json names, when that is not
// what node_modules holds. Costs a few milliseconds otherwise. Has to run on Node 20 with nothing installed.
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
  console.log('Installing dependencies …')
  const clean = npm(['ci', '--loglevel=error'])
  if (clean.status === 0) return
  // A registry without the builds of a tool for other systems makes a lock file that `npm ci` calls incomplete.
  // `npm install` takes it as it is; that every version is the locked one is checked here.
  const incomplete = /EUSAGE/.test(clean.stderr ?? '')
  const installed = incomplete ? npm(['install', '--no-save', '--loglevel=error']) : clean
  if (installed.status === 0 && matches(lock, read(hiddenLockFile))) return
  fail(installed.status === 0 ? clean : installed)
}

function npm(args) {
  // The Node that runs npm, not the one in node_modules, which `npm ci` is about to delete.
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
      'What npm said is above. Usual causes: no network to the npm registry, no write access to this folder, or',
      'a package-lock.json that does not fit package.json (then run `npm install` once and commit the lock file).',
    ].join('\n'),
  )
  process.exit(1)
}
