// A variable for the Node processes that tests start: they share what was compiled, in which a large program spends most of its
// start.
import { join } from 'node:path'

export const compileCache = { NODE_COMPILE_CACHE: join(import.meta.dirname, '../../.wrangler/compile-cache') }
