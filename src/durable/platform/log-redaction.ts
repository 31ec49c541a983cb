/** Lets every log entry of this isolate pass the redactor of its tenant. */

import { redactLogsWith } from '#agent/core/log.ts'
import { redactorFor } from './redaction.ts'

/** Called by the worker and by each object, which know the secrets of the deployment. */
export const redactLogs = (env: Env): void =>
  redactLogsWith((text, tenantId) => redactorFor(env, tenantId).redact(text))
