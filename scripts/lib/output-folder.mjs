import { join } from 'node:path'
import { root } from './root.mjs'

/** The folder of a build. `entry`: `index` or `with-sandbox`, the entries in src/worker. */
export const outputFolder = (entry) => join(root, 'dist', entry === 'index' ? 'worker' : entry)
