/** The empty chat: examples that are sent at once, sessions to go on with, and which model answers when there is none but the demo. */

import { useEffect } from 'preact/hooks'
import { can } from '../../api/me.ts'
import { Button } from '../../parts/button.tsx'
import { useLate } from '../../parts/late.ts'
import { addressOf } from '../../parts/route.ts'
import { formatDay } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { projects, sessions } from '../sessions/sessions.ts'
import { choiceOf, loadModels, models } from './models.ts'
import { isTemporary } from './new-session.ts'
import { submit } from './turns.ts'

const demoExamples = ['example1', 'example2', 'example3'] as const
const examples = ['ask1', 'ask2', 'ask3', 'ask4'] as const
const maxRecent = 4

function greet() {
  const hour = new Date().getHours()
  return hour >= 5 && hour < 12 ? 'morning' : hour >= 12 && hour < 18 ? 'afternoon' : 'evening'
}

export function Welcome() {
  // A key may have been added since. Without a network the names stay as they are.
  useEffect(() => void loadModels().catch(() => undefined), [])
  const isDemo = models.value?.[0]?.provider === 'demo'
  return (
    <div class="welcome grow">
      <div>
        <img src="/icon.svg" alt="" width="44" height="44" />
        <h1>
          {t(greet())} <span>{t('whatToDo')}</span>
        </h1>
      </div>
      {can('chat') && models.value && (
        <ul class="starts" aria-label={t('welcome')}>
          {(isDemo ? demoExamples : examples).map((name) => (
            <li key={name}>
              <Button onClick={() => submit({ text: t(name), attachments: [], ...choiceOf('') })}>{t(name)}</Button>
            </li>
          ))}
        </ul>
      )}
      {can('chat') && (
        <div class="row">
          <Temporary />
          {!isTemporary.value && <OfProject />}
        </div>
      )}
      {!isTemporary.value && <Recent />}
      {isDemo && (
        <p class="note">
          {t('demoAnswers')} <a href={addressOf('models')}>{t('addKey')}</a>
        </p>
      )}
    </div>
  )
}

function OfProject() {
  const Choice = useLate(
    async () => (await import('../projects/project-choice.tsx')).ProjectOfNewChat,
    projects.value.length > 0,
  )
  return Choice ? <Choice /> : null
}

const Temporary = () => (
  <>
    <button
      type="button"
      class="button toggle"
      aria-pressed={isTemporary.value}
      onClick={() => void (isTemporary.value = !isTemporary.value)}
    >
      {t('temporaryChat')}
    </button>
    {isTemporary.value && <p class="note">{t('temporaryText')}</p>}
  </>
)

/** The sessions that changed last, to go on with. */
function Recent() {
  const recent = sessions.value.filter(({ archived }) => !archived).slice(0, maxRecent)
  if (!recent.length) return null
  return (
    <section aria-label={t('recent')}>
      <h2>{t('recent')}</h2>
      <ul class="recent">
        {recent.map(({ id, title, status, updated_at: at }) => (
          <li key={id}>
            <a href={addressOf('chat', id)}>
              <span class="clip grow" dir="auto">
                {title ?? t('untitled')}
              </span>
              {status === 'idle' ? (
                <time dateTime={at}>{formatDay(at)}</time>
              ) : (
                <span class={status === 'waiting' ? 'badge warn' : 'badge'}>{t(status)}</span>
              )}
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}
