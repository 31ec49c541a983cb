/** Matches lines with the clock of the platform. */

import { createMatchLines } from './match-lines.ts'

export const matchLines = createMatchLines({ now: Date.now, yieldThread: () => scheduler.wait(0) })
