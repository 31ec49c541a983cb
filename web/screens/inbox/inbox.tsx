/** Everything that waits for a person, oldest first. */

import { get, type Page } from '../../api/client.ts'
import type { Approval, Question } from '../../model/types.ts'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { t } from '../../words/words.ts'
import { waitingCount } from '../sessions/sessions.ts'
import { ApprovalCard } from './approval-card.tsx'
import { PushOffer } from './push-offer.tsx'
import { QuestionCard } from './question-card.tsx'

async function load() {
  const [approvals, questions] = await Promise.all([
    get<Page<Approval>>('/api/approvals?limit=200'),
    get<Page<Question>>('/api/questions?limit=200'),
  ])
  const oldest = approvals.data.toSorted((one, other) => one.created_at.localeCompare(other.created_at))
  return { approvals: oldest, questions: questions.data }
}

/** Loads again when the number of waiting things changes. */
export function Inbox() {
  const waiting = useLoad(load, String(waitingCount.value))
  return (
    <Screen title={t('inbox')}>
      <Panel of={waiting}>
        {({ approvals, questions }) => (
          <div class="list-of">
            {approvals.map((approval) => (
              <ApprovalCard key={approval.id} approval={approval} isLinked onDecided={waiting.reload} />
            ))}
            {questions.map((question) => (
              <QuestionCard key={question.id} question={question} isLinked onAnswered={waiting.reload} />
            ))}
            {!approvals.length && !questions.length && <p class="note">{t('nothingWaits')}</p>}
            <PushOffer />
          </div>
        )}
      </Panel>
    </Screen>
  )
}
