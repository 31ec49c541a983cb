/** Refuses secrets in a deployment that cannot encrypt them. */

import { missingForSealing } from '../durable/platform/seal.ts'
import { AppError } from './errors.ts'

export function requireSealing(env: Pick<Env, 'ENCRYPTION_KEY'>): void {
  const missing = missingForSealing(env)
  if (missing) throw new AppError(503, 'not_configured', missing, { param: 'ENCRYPTION_KEY' })
}
