/** Offers push messages in place after an approval, once, before the browser asks in its own words. */

import { signal } from '@preact/signals'
import { enablePush, readPushState } from '../../api/push.ts'
import { Button } from '../../parts/button.tsx'
import { t } from '../../words/words.ts'

const storageKey = 'talaria.push-offered'
export const isPushOffered = signal(false)

export async function offerPush(): Promise<void> {
  if (localStorage.getItem(storageKey) || (await readPushState()) !== 'off') return
  localStorage.setItem(storageKey, 'yes')
  isPushOffered.value = Notification.permission === 'default'
}

/** Takes its place in the page: it covers nothing, and takes no key. */
export function PushOffer() {
  if (!isPushOffered.value) return null
  const answer = async (work?: () => Promise<void>) => {
    isPushOffered.value = false
    await work?.()
  }
  return (
    <section class="card" aria-label={t('push')}>
      <p>{t('pushAsk')}</p>
      <div class="row end">
        <Button onClick={() => answer()}>{t('notNow')}</Button>
        <Button kind="main" onClick={() => answer(enablePush)}>
          {t('pushOn')}
        </Button>
      </div>
    </section>
  )
}
