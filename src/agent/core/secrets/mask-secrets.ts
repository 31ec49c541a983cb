/** Masks formats of secrets where no exact values are known. Everything else uses the redactor of the tenant. */

import { createRedactor } from './redaction.ts'

const formatsOnly = createRedactor([])

export const maskSecrets = formatsOnly.redact

/** Masks secrets in all texts of a JSON value. */
export const maskSecretsInValue = formatsOnly.redactValue
