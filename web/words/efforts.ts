/** Names the levels of thinking that most models have. */

import { wordsOf } from './words.ts'

/** A level that only some models have is shown as they name it. */
export const nameEffort = (level: string): string => nameOf('effort', level)

const { nameOf } = wordsOf(
  {
    effort_none: 'None',
    effort_minimal: 'Minimal',
    effort_low: 'Low',
    effort_medium: 'Medium',
    effort_high: 'High',
    effort_xhigh: 'Very high',
    effort_max: 'Maximum',
    effort_ultra: 'Ultra',
  },
  {
    effort_none: 'Ohne',
    effort_minimal: 'Minimal',
    effort_low: 'Niedrig',
    effort_medium: 'Mittel',
    effort_high: 'Hoch',
    effort_xhigh: 'Sehr hoch',
    effort_max: 'Maximal',
    effort_ultra: 'Ultra',
  },
)
