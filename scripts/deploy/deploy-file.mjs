// Reads and writes deploy.json: what a deployment has learned and what its owner chose. It is not committed, so the tracked
// wrangler.toml stays as it is. Its field `wrangler` is the owner's: it is merged over wrangler.toml.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

export function readDeployFile(file) {
  if (!existsSync(file)) return {}
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`${file} is not JSON: ${error.message}. Correct it, or remove it to be asked again.`, {
      cause: error,
    })
  }
}

/** Whole or not at all: an interrupted run must not lose what the runs before it learned. */
export function writeDeployFile(file, facts) {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(facts, null, 2)}\n`)
  renameSync(draft, file)
}
