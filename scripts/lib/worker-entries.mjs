import { join } from 'node:path'
import { root } from './root.mjs'

/** The entries that can be built, each with its folder in dist. */
const entries = {
  index: { source: 'src/worker/index.ts', folder: 'worker' },
  /** For a deployment without the binding LOADER. A folder of its own, because servers of this tree watch the other. */
  'in-process': { source: 'src/worker/index.ts', folder: 'worker-in-process' },
  'with-sandbox': { source: 'src/worker/with-sandbox.ts', folder: 'with-sandbox' },
  'with-native-sandbox': { source: 'src/worker/with-native-sandbox.ts', folder: 'with-native-sandbox' },
  /** The worker of the benchmark that counts rows. */
  'bench-rows': { source: 'bench/rows-worker.ts', folder: 'bench-rows' },
}

function find(entry) {
  if (!Object.hasOwn(entries, entry)) throw new Error(`${entry}? The entries are ${Object.keys(entries).join(', ')}.`)
  return entries[entry]
}

export const sourceOf = (entry) => join(root, find(entry).source)
export const outputFolder = (entry) => join(root, 'dist', find(entry).folder)
/** The report of esbuild about the build, and the names of its static assets. Beside the folder, which is uploaded. */
export const metafileOf = (entry) => `${outputFolder(entry)}.json`
