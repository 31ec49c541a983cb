/** The dialect `anthropic` with the client of the official SDK. */

import * as sdk from '@anthropic-ai/sdk/client'
import { createAnthropic } from '../../../../src/agent/providers/anthropic/anthropic.ts'

export const anthropic = createAnthropic(sdk)
