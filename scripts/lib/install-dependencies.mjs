// Installs the dependencies of package-lock.json when node_modules differs from it. Takes a few milliseconds when nothing
// changed. Must run on Node 20 with nothing installed.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { explainInstallFailure, showProgress } from './install-progress.mjs'
import { root } from './root.mjs'
import { fingerprint, matches } from './lockfile.mjs'

const lockFile = join(root, 'package-lock.json')
const stampFile = join(root, 'node_modules/.talaria-lock')
const hiddenLockFile = join(root, 'node_modules/.package-lock.json')
const read = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined)

const lock = read(lockFile)
const wanted = fingerprint(lock)
if (read(stampFile) !== wanted) {
  // After a manual `npm ci` only the stamp is missing.
  if (!matches(lock, read(hiddenLockFile))) await install()
  writeStamp()
}

/** Without the stamp the versions are compared again at the next start. */
function writeStamp() {
  try {
    writeFileSync(stampFile, wanted)
  } catch (error) {
    console.warn(`note: ${stampFile} cannot be written: ${error.message}`)
  }
}

async function install() {
  const clean = await npm(['ci', '--loglevel=error'])
  if (clean.status === 0) return
  // A registry without builds for other systems makes a lock file that `npm ci` calls incomplete. `npm install` accepts it;
  // the check below ensures that every version is the locked one.
  const incomplete = /EUSAGE/.test(clean.stderr)
  const installed = incomplete ? await npm(['install', '--no-save', '--loglevel=error']) : clean
  if (installed.status === 0 && matches(lock, read(hiddenLockFile))) return
  console.error(explainInstallFailure(installed.status === 0 ? clean : installed, root))
  process.exit(1)
}

function npm(args) {
  // Use the Node that runs npm: `npm ci` deletes the one in node_modules.
  const { npm_node_execpath: node, npm_execpath: script } = process.env
  const options = { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] }
  const all = [...args, '--no-fund', '--no-audit']
  const child =
    node && script && existsSync(node)
      ? spawn(node, [script, ...all], options)
      : spawn('npm', all, { ...options, shell: process.platform === 'win32' })
  const stop = showProgress(Object.keys(JSON.parse(lock).packages ?? {}), root)
  let stderr = ''
  child.stderr.on('data', (part) => (stderr += part))
  return new Promise((done) => {
    const end = (result) => {
      stop()
      done({ stderr, ...result })
    }
    child.on('error', (error) => end({ status: null, error }))
    child.on('close', (status) => end({ status }))
  })
}
