/** The variables of a deployment, by name: providers and channels name theirs as data, so `Env` cannot list them all. */

import type { Variables } from '../../agent/routing/route.ts'

/** Bindings stand among them; only names of variables and secrets are read here. */
export const variablesOf = (env: Env): Variables => env as unknown as Variables
