/** Exports the dialect `gemini`, for keys and for service accounts. */

import type { Dialect, SendRequest } from '#agent/core/dialect.ts'
import { createGemini as createGeminiDialect } from '#agent/providers/gemini/gemini.ts'
import { withServiceAccounts } from './vertex.ts'

export const createGemini = (platformSend: SendRequest): Dialect =>
  withServiceAccounts(createGeminiDialect(platformSend), platformSend)
