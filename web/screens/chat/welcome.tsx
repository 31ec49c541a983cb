/** The empty chat: examples that are sent at once, and which model answers when there is none but the demo. */

import { useEffect } from 'preact/hooks'
import { can } from '../../api/me.ts'
import { Button } from '../../parts/button.tsx'
import { addressOf } from '../../parts/route.ts'
import { t } from '../../words/words.ts'
import { choiceOf, loadModels, models } from './models.ts'
import { submit } from './turns.ts'

const demoExamples = ['example1', 'example2', 'example3'] as const
const examples = ['ask1', 'ask2', 'ask3'] as const

export function Welcome() {
  // A key may have been added since. Without a network the names stay as they are.
  useEffect(() => void loadModels().catch(() => undefined), [])
  const isDemo = models.value?.[0]?.provider === 'demo'
  return (
    <div class="welcome grow">
      <h1>Talaria</h1>
      {can('chat') && models.value && (
        <>
          <p>{t('welcome')}</p>
          <ul>
            {(isDemo ? demoExamples : examples).map((name) => (
              <li key={name}>
                <Button onClick={() => submit({ text: t(name), attachments: [], ...choiceOf('') })}>{t(name)}</Button>
              </li>
            ))}
          </ul>
        </>
      )}
      {isDemo && (
        <p class="note">
          {t('demoAnswers')} <a href={addressOf('models')}>{t('addKey')}</a>
        </p>
      )}
    </div>
  )
}
