/** Offers push messages after the first approval, once, before the browser asks in its own words. */

import { ask } from '../../parts/dialog.tsx'
import { enablePush, readPushState } from '../../api/push.ts'
import { showError } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'

const storageKey = 'talaria.push-offered'

export async function offerPush(): Promise<void> {
  if (localStorage.getItem(storageKey) || (await readPushState()) !== 'off') return
  localStorage.setItem(storageKey, 'yes')
  if (Notification.permission !== 'default') return
  const answer = await ask({ title: t('push'), text: t('pushAsk'), action: t('pushOn') })
  if (answer !== undefined) await enablePush().catch(showError)
}
