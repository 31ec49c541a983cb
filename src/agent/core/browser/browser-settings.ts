/** Defines the settings of the browser. */

import * as z from 'zod'
import { browserBackends } from './browser.ts'

export const browserSettings = {
  browser: z
    .strictObject({
      backend: z.enum(browserBackends).optional().describe('Default: the first one that is set up.'),
      idle_seconds: z.int().min(1).max(540).optional().describe('An unused browser is closed. Default: 120.'),
      usd_per_hour: z
        .number()
        .min(0)
        .max(1_000)
        .optional()
        .describe('What an hour of a browser costs. Default: 0.09 for binding, 0 for cdp; unknown for the others.'),
      allow_expressions: z
        .boolean()
        .optional()
        .describe('Whether browser_console may evaluate expressions, each with an approval. Default: false.'),
    })
    .optional()
    .describe('The browser of a session.'),
} as const
