// `npm run trace [-- FOLDER] < FILE`: prints a log or a stack trace with the places in the source. Modules of the worker
// have short names only. FOLDER is that of the build, dist/worker by default; a checkout of the same commit builds it again
// with `node scripts/build-worker.mjs`.
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { readTrace } from './lib/read-trace.mjs'
import { root } from './lib/root.mjs'

const [folder = join(root, 'dist/worker')] = process.argv.slice(2)
process.stdout.write(readTrace(await text(process.stdin), resolve(folder), root))
