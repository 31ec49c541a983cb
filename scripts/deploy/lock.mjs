// Lets one deployment at a time work with a folder: two would generate different keys and overwrite each other's files.
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Throws while another deployment has the folder. A lock whose process is gone is taken over. */
export function lockFolder(folder) {
  const file = join(folder, '.deploy.lock')
  if (!create(file)) {
    const holder = Number(readFileSync(file, 'utf8')) || 0
    if (isAlive(holder))
      throw new Error(
        `Another deployment is running from ${folder} (process ${holder}). Wait until it has ended, or remove ${file}.`,
      )
    rmSync(file, { force: true })
    if (!create(file)) throw new Error(`Another deployment has begun from ${folder}. Wait until it has ended.`)
  }
  process.once('exit', () => rmSync(file, { force: true }))
  removeLeftovers(folder)
}

function create(file) {
  try {
    const handle = openSync(file, 'wx')
    writeFileSync(handle, String(process.pid))
    closeSync(handle)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function isAlive(pid) {
  if (!pid) return false
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** A killed process whose parent has not noticed still has its number. */
function isZombie(pid) {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

/** A run that was killed could not remove its copy of the secrets and its drafts. */
function removeLeftovers(folder) {
  const leftover = /^(?:\.deploy\.secrets\.\d+\.json|deploy\.json\.\d+|\.deploy\.vars\.\d+)$/
  for (const name of readdirSync(folder)) if (leftover.test(name)) rmSync(join(folder, name), { force: true })
}
