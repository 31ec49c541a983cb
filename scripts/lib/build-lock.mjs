// Two servers that start after a change would remove each other's files: one process at a time builds in this folder.
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { takeLock } from './file-lock.mjs'
import { root } from './root.mjs'

const pauseMs = 100
const maxWaitMs = 300_000
const file = join(root, '.build.lock')

/** Waits until no other process builds in this folder. From here on this one does, until it ends. */
export async function waitForBuilds() {
  const end = Date.now() + maxWaitMs
  for (let holder = takeLock(file); holder !== undefined; holder = takeLock(file)) {
    if (Date.now() > end)
      throw new Error(`Process ${holder} is building in this folder. Wait for it, or remove ${file}.`)
    await setTimeout(pauseMs)
  }
}
