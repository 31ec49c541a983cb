/** Links to a session by its title. */

import { addressOf } from '../../parts/route.ts'
import { t } from '../../words/words.ts'
import { sessions } from './sessions.ts'

export const SessionLink = ({ id }: { readonly id: string }) => (
  <a class="clip" href={addressOf('chat', id)} dir="auto">
    {sessions.value.find((one) => one.id === id)?.title ?? t('toSession')}
  </a>
)
