// Shows how far an installation is, and explains why one failed. Must run on Node 20 with nothing installed.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Prints the share of the packages that are there: on a terminal in one line, else every ten seconds. */
export function showProgress(packages, root, { stream = process.stdout, intervalMs } = {}) {
  const paths = packages.filter((path) => path !== '').map((path) => join(root, path))
  const begin = 'Installing dependencies (once; a minute or two) …'
  stream.write(stream.isTTY ? begin : `${begin}\n`)
  const startedAt = Date.now()
  const show = () => {
    const there = paths.filter((path) => existsSync(path)).length
    const seconds = Math.round((Date.now() - startedAt) / 1_000)
    const text = `Installing dependencies … ${there} of ${paths.length} packages, ${seconds} s`
    stream.write(stream.isTTY ? `\r${text}\u001B[K` : `${text}\n`)
  }
  const timer = setInterval(show, intervalMs ?? (stream.isTTY ? 1_000 : 10_000))
  return () => {
    clearInterval(timer)
    if (stream.isTTY) stream.write('\n')
  }
}

const causes = [
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|network/i,
    () =>
      'There is no connection to the npm registry. Only the installation needs one; behind a proxy: npm config set proxy http://…',
  ],
  [
    /EACCES|EPERM|EROFS/,
    (root) => `The folder ${root} cannot be written. Give yourself write access to it, or clone to another place.`,
  ],
  [/ENOSPC/, () => 'The disk is full. The dependencies need about 1 GB.'],
  [/EUSAGE/, () => 'package-lock.json does not fit package.json. Run `npm install` once and commit the lock file.'],
  [/ENOENT/, () => 'npm was not found. It comes with Node: https://nodejs.org'],
]

export function explainInstallFailure({ status, error, stderr = '' }, root) {
  const text = `${stderr}${error?.message ?? ''}`
  const cause = causes.find(([pattern]) => pattern.test(text))
  const ended = error ? error.message : `npm ended with ${status}`
  const hint = cause ? cause[1](root) : 'The output of npm is above.'
  return [stderr.trim(), `Installing the dependencies failed (${ended}).`, hint].filter(Boolean).join('\n')
}
