/** Lists which rights a turn lacks because of others who have contributed to its conversation, in words for people and models. */

import { isRiskAbove, type Risk } from './approval.ts'
import type { Authority, Scope } from './authority.ts'

type Joint = Pick<Authority, 'scopes' | 'maxRisk' | 'withoutOthers'>

export const othersLimit = 'somebody with fewer rights has contributed to this conversation; /new begins without them'

export const isScopeLost = ({ scopes, withoutOthers }: Joint, scope: Scope): boolean =>
  !scopes.includes(scope) && withoutOthers !== undefined && withoutOthers.scopes.includes(scope)

export const isRiskLost = ({ maxRisk, withoutOthers }: Joint, risk: Risk): boolean =>
  withoutOthers !== undefined && isRiskAbove(risk, maxRisk) && !isRiskAbove(risk, withoutOthers.maxRisk)
