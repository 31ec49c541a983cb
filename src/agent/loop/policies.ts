/**
 * Lists all policies of the loop in the order in which they apply. A new policy is a file in agent/policy and one word
 * here. Nothing else in this folder imports a policy (scripts/check-floors.mjs).
 */

import { answerWithoutTools, requireAnswerFormat } from '../policy/answer-format.ts'
import { countStep, stopAtStepLimit, windUp } from '../policy/budget.ts'
import { completeReply } from '../policy/complete-reply.ts'
import { compressContext, judgeCompression, measurePrompt } from '../policy/compress-context.ts'
import { rememberHousekeepingText } from '../policy/housekeeping-text.ts'
import { continueBrokenStream, countUnknownTools, retryIncompleteReply } from '../policy/incomplete-reply.ts'
import { planCalls } from '../policy/plan-calls.ts'
import type { AfterEffect, BeforeModel, OnEnter, OnReply } from '../policy/policy.ts'
import { recordDecision } from '../policy/approval/record-decision.ts'
import { recover } from '../policy/recover.ts'
import { recordHalt, settleRefusedCall, stopAtSpendingLimit, warnNearLimit } from '../policy/spending-limit.ts'
import { stopOnRequest } from '../policy/stop-on-request.ts'
import { repairToolCalls } from '../policy/repair-tool-calls.ts'
import { stopAtTimeLimit } from '../policy/time-limit.ts'
import { guardToolLoops, stopAtCallLimit } from '../policy/tool-loop-guard.ts'
import { refundUnusedWait } from '../policy/unused-wait.ts'
import { selectUsableModel } from '../policy/usable-model.ts'

/** Before every model call. */
export const beforeModel: readonly BeforeModel[] = [
  stopOnRequest,
  stopAtSpendingLimit,
  stopAtTimeLimit,
  compressContext,
  stopAtStepLimit,
  answerWithoutTools,
]

/** As every step begins. */
export const onEnter: readonly OnEnter[] = [recordHalt, refundUnusedWait, selectUsableModel]

/** For every reply of a model. */
export const onReply: readonly OnReply[] = [
  measurePrompt,
  warnNearLimit,
  repairToolCalls,
  retryIncompleteReply,
  completeReply,
  requireAnswerFormat,
  windUp,
  planCalls,
  stopAtCallLimit,
  countStep,
  countUnknownTools,
  rememberHousekeepingText,
]

/** For every other result: of a tool, a summary or a failed call. */
export const afterEffect: readonly AfterEffect[] = [
  settleRefusedCall,
  recordDecision,
  judgeCompression,
  continueBrokenStream,
  recover,
  guardToolLoops,
]
