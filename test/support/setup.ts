/** Sets up each test file inside workerd. */

import { afterAll, beforeAll } from 'vitest'
import { resetDefaultTenant } from './default-tenant.ts'
import { endFile } from './file-end.ts'
import { loudConsole, silenceConsole } from './silence-between-files.ts'

// Evaluated once for each isolate: they change the test runner and replace what is outside.
export { runner } from './worker-once.ts'
export { lookup } from './rpc-paths.ts'
export { changed } from './direct-calls.ts'
export { model } from './model-fetch.ts'

beforeAll(loudConsole)
// The last one runs first.
afterAll(silenceConsole)
afterAll(endFile)
afterAll(resetDefaultTenant)
