/** Refuses requests that store a secret when the deployment has no valid `ENCRYPTION_KEY`. */

import { explainMissingKey } from '#durable/platform/master-key.ts'
import { AppError } from '../errors.ts'

export function requireEncryptionKey(env: Pick<Env, 'ENCRYPTION_KEY'>): void {
  const missing = explainMissingKey(env)
  if (missing) throw new AppError(503, 'not_configured', missing, { param: 'ENCRYPTION_KEY' })
}
