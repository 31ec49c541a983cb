/** Exports the dialect `anthropic` with the base client of its SDK. It is bundled apart: a start does not wait for it. */

import { BaseAnthropic } from '@anthropic-ai/sdk/client'
import { createAnthropic } from '#agent/providers/anthropic/anthropic.ts'

export const anthropic = createAnthropic({ BaseAnthropic })
