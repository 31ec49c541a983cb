// Lets one deployment at a time work with a folder: two would generate different keys and overwrite each other's files.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { takeLock } from '../lib/file-lock.mjs'

/** Throws while another deployment has the folder. */
export function lockFolder(folder) {
  const file = join(folder, '.deploy.lock')
  const holder = takeLock(file)
  if (holder !== undefined)
    throw new Error(
      `Another deployment is running from ${folder} (process ${holder}). Wait until it has ended, or remove ${file}.`,
    )
  removeLeftovers(folder)
}

/** A run that was killed could not remove its copy of the secrets and its drafts. */
function removeLeftovers(folder) {
  const leftover = /^(?:\.deploy\.secrets\.\d+\.json|deploy\.json\.\d+|\.deploy\.vars\.\d+)$/
  for (const name of readdirSync(folder)) if (leftover.test(name)) rmSync(join(folder, name), { force: true })
}
