/** Shows the messages of the open session that wait to be sent. */

import { useEffect } from 'preact/hooks'
import { IconButton } from '../../parts/button.tsx'
import { place } from '../../parts/route.ts'
import { t } from '../../words/words.ts'
import { forgetWaiting, waiting, watchOutbox } from './outbox.ts'
import { loadError, refresh } from './store.ts'

export function WaitingMessages() {
  useEffect(watchOutbox, [])
  useEffect(() => {
    const reload = () => void (loadError.value !== undefined && place.value.id && refresh())
    addEventListener('online', reload)
    return () => removeEventListener('online', reload)
  }, [])
  const here = waiting.value.filter(({ session }) => session === place.value.id)
  if (!here.length) return null
  return (
    <ul class="queue" aria-label={t('waitsToBeSent')}>
      {here.map(({ key, text }) => (
        <li key={key}>
          <span class="badge warn">{t('waitsToBeSent')}</span>
          <span class="clip" dir="auto">
            {text}
          </span>
          <IconButton icon="close" label={t('remove')} onClick={() => forgetWaiting(key)} />
        </li>
      ))}
    </ul>
  )
}
