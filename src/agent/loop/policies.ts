/**
 * Lists all policies of the loop in the order in which they apply. A new policy is a file in agent/policy and one word
 * here. Nothing else in this folder imports a policy (scripts/check-floors.mjs).
 */

import { answerWithoutTools, requireAnswerFormat } from '#agent/policy/answer-format.ts'
import { countStep, stopAtStepLimit, windUp } from '#agent/policy/budget.ts'
import { completeReply } from '#agent/policy/complete-reply.ts'
import { compressContext, judgeCompression, measurePrompt } from '#agent/policy/compress-context.ts'
import { rememberHousekeepingText } from '#agent/policy/housekeeping-text.ts'
import { continueBrokenStream, countUnknownTools, retryIncompleteReply } from '#agent/policy/incomplete-reply.ts'
import { planCalls } from '#agent/policy/plan-calls.ts'
import type { AfterEffect, BeforeModel, OnEnter, OnReply } from '#agent/policy/policy.ts'
import { recordDecision } from '#agent/policy/approval/record-decision.ts'
import { recover } from '#agent/policy/recover.ts'
import { recordHalt, settleRefusedCall, stopAtSpendingLimit, warnNearLimit } from '#agent/policy/spending-limit.ts'
import { stopOnRequest } from '#agent/policy/stop-on-request.ts'
import { repairToolCalls } from '#agent/policy/repair-tool-calls.ts'
import { unwrapToolCalls } from '#agent/policy/unwrap-tool-calls.ts'
import { stopAtTimeLimit } from '#agent/policy/time-limit.ts'
import { guardToolLoops, stopAtCallLimit } from '#agent/policy/tool-loop-guard.ts'
import { refundUnusedWait } from '#agent/policy/unused-wait.ts'
import { selectUsableModel } from '#agent/policy/usable-model.ts'

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
  unwrapToolCalls,
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
