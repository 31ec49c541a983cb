// Checks that the state folder is writable. wrangler would hang or fail with an unrelated error.
import { mkdirSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** `name`: how the message calls the folder. */
export function requireWritable(folder, name = `--persist-to ${folder}`) {
  try {
    make(folder)
    rmdirSync(mkdtempSync(join(folder, '.talaria-')))
  } catch (error) {
    const why = ['EEXIST', 'ENOTDIR'].includes(error.code) ? 'it is a file, or lies in one' : error.message
    throw new Error(`${name} cannot be written: ${why}`, { cause: error })
  }
}

/** Not `recursive`, because Node never returns from that for paths like `/proc/x`. */
function make(folder) {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  if (dirname(folder) !== folder) make(dirname(folder))
  mkdirSync(folder)
}
