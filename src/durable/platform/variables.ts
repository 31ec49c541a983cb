/** Reads the variables of a deployment by name: providers and channels name theirs as data, so `Env` cannot list them. */

import type { Variables } from '#agent/routing/route.ts'

/** The object has bindings too; only variables and secrets are read from it. */
export const variablesOf = (env: Env): Variables => env as unknown as Variables
