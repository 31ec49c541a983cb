/** Routes that take secrets refuse them where they could not be kept. */

import { missingForSealing } from '../durable/platform/seal.ts'
import { AppError } from './errors.ts'

export function requireSealing(env: Pick<Env, 'ENCRYPTION_KEY'>): void {
  const missing = missingForSealing(env)
  if (missing) throw new AppError(503, 'not_configured', missing, { param: 'ENCRYPTION_KEY' })
}
