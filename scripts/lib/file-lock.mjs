// Lets one process at a time do something: a file has the id of the process that does it. The lock ends with the process.
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'

/** Returns the process that has the lock, or undefined when this one has it now. A lock whose process is gone is taken over. */
export function takeLock(file) {
  for (let attempt = 0; attempt < 2; attempt++) {
    if (create(file)) {
      process.once('exit', () => rmSync(file, { force: true }))
      return undefined
    }
    const holder = readHolder(file)
    if (isAlive(holder) || isNew(file)) return holder
    rmSync(file, { force: true })
  }
  return readHolder(file)
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

/** 0: the file has gone, or has no process yet. */
function readHolder(file) {
  try {
    return Number(readFileSync(file, 'utf8')) || 0
  } catch (error) {
    if (error.code === 'ENOENT') return 0
    throw error
  }
}

/** Its process has not written its id yet. */
const isNew = (file) => {
  const { size = 1, mtimeMs = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {}
  return size === 0 && Date.now() - mtimeMs < 1_000
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
