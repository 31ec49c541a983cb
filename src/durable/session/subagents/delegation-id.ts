/** Names a delegation after the call that makes it, so that a repetition of the call finds it. */

import { hash53 } from '#agent/core/hash53.ts'
import type { Turn } from '#agent/core/turn.ts'

/** Models repeat call ids in later replies, so the number of the reply is a part. */
export const delegationOf = ({ id }: Turn, step: number, callId: string): string =>
  `dlg_${hash53(`${id} ${step} ${callId}`).toString(36)}`
