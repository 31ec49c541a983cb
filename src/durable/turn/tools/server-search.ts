/**
 * Decides whether a call may search with the provider of the model (`web.backend: native`), and remembers that it did.
 * No approval guards these searches. So the tool `web_search` takes their place as soon as something has to.
 */

import { isRiskAbove } from '#agent/core/permission/approval.ts'
import { foreignMarks } from '#agent/core/marks.ts'
import type { Turn } from '#agent/core/turn.ts'
import { matchesWildcard } from '#agent/policy/wildcard.ts'
import { createApprovalPolicy } from '../approval-policy.ts'
import { turnAuthority } from '../turn-authority.ts'
import { turnMarks } from '../turn-marks.ts'
import type { TurnSession } from '../turn-session.ts'

export type ServerSearch = {
  readonly isAllowed: (turn: Turn) => boolean
  /** Marks the turn when the provider searches, or may have: from then on it contains foreign content. */
  readonly note: (turn: Turn) => void
}

const tool = 'web_search'

export function createServerSearch(session: TurnSession): ServerSearch {
  return {
    isAllowed(turn) {
      const { web = {} } = session.settings
      // Sources at the end of an answer would break its format.
      if ((web.search_backend ?? web.backend) !== 'native' || turn.options.answerFormat) return false
      const { mode, rules } = createApprovalPolicy(session.settings, session.meta, turn)
      const { maxRisk } = turnAuthority(session)
      if (maxRisk && isRiskAbove('net', maxRisk)) return false
      if (rules.some((rule) => rule.do !== 'allow' && matchesWildcard(rule.tool, tool))) return false
      return mode === 'off' || !turnMarks(session, turn).now().isPrivate
    },
    note: (turn) => turnMarks(session, turn).add(foreignMarks),
  }
}
