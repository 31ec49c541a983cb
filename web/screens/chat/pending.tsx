/** Approvals and questions of the open session, and the offer of push messages, above the composer where nobody misses them. */

import { ApprovalCard } from '../inbox/approval-card.tsx'
import { isPushOffered, PushOffer } from '../inbox/push-offer.tsx'
import { QuestionCard } from '../inbox/question-card.tsx'
import { timeline } from './store.ts'

export function Pending() {
  const { approvals, questions } = timeline.value
  if (!approvals.length && !questions.length && !isPushOffered.value) return null
  return (
    <div class="pending">
      {approvals.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} />
      ))}
      {questions.map((question) => (
        <QuestionCard key={question.id} question={question} />
      ))}
      <PushOffer />
    </div>
  )
}
