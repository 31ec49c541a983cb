/**
 * Properties try the same values in each run, so that one that fails does so with the change that broke it. `npm run chaos`
 * tries others.
 */

import * as fc from 'fast-check'

fc.configureGlobal({ seed: Number(globalThis.process?.env['PROPERTY_SEED'] ?? 1) })
