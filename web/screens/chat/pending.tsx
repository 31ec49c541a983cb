/** Approvals and questions of the open session, above the composer where nobody misses them. */

import { ApprovalCard } from '../inbox/approval-card.tsx'
import { QuestionCard } from '../inbox/question-card.tsx'
import { timeline } from './store.ts'

export function Pending() {
  const { approvals, questions } = timeline.value
  if (!approvals.length && !questions.length) return null
  return (
    <div class="pending">
      {approvals.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} />
      ))}
      {questions.map((question) => (
        <QuestionCard key={question.id} question={question} />
      ))}
    </div>
  )
}
