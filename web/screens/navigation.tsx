/** The side of the page: a new chat, the sessions, and the other screens. */

import { can, me } from '../api/me.ts'
import { Icon, type IconName } from '../parts/icon.tsx'
import { addressOf, place } from '../parts/route.ts'
import { t, type Word } from '../words/words.ts'
import { isPaletteOpen } from './keys.ts'
import { SessionList } from './sessions/session-list.tsx'
import { waitingCount } from './sessions/sessions.ts'

type Entry = { readonly screen: Word & IconName; readonly scope: string }
const entries: readonly Entry[] = [
  { screen: 'inbox', scope: 'read' },
  { screen: 'sessions', scope: 'read' },
  { screen: 'models', scope: 'read' },
  { screen: 'settings', scope: 'read' },
  { screen: 'usage', scope: 'read' },
  { screen: 'channels', scope: 'read' },
  { screen: 'jobs', scope: 'jobs' },
  { screen: 'memory', scope: 'read' },
  { screen: 'skills', scope: 'read' },
  { screen: 'owner', scope: 'admin' },
]

/** The screens that the key may open. */
export const listScreens = (): readonly Entry['screen'][] =>
  entries
    .filter(({ scope }) => can(scope) && (scope !== 'admin' || me.value?.tenant === 'default'))
    .map(({ screen }) => screen)

export const Navigation = () => (
  <nav class="side" aria-label={t('navigation')}>
    <a class="button main new" href={addressOf('chat')}>
      <Icon name="plus" /> {t('newChat')}
    </a>
    <SessionList />
    <ul class="screens">
      {listScreens().map((screen) => (
        <li key={screen}>
          <a href={addressOf(screen)} aria-current={place.value.screen === screen ? 'page' : undefined}>
            <Icon name={screen} /> {t(screen)}
            {screen === 'inbox' && waitingCount.value > 0 && <span class="badge warn">{waitingCount.value}</span>}
          </a>
        </li>
      ))}
      <li>
        <button type="button" aria-keyshortcuts="Control+K Meta+K" onClick={() => void (isPaletteOpen.value = true)}>
          <Icon name="search" /> {t('palette')}
        </button>
      </li>
      <li>
        <a href={addressOf('account')} aria-current={place.value.screen === 'account' ? 'page' : undefined}>
          <Icon name="owner" /> {me.value?.key.name || t('account')}
        </a>
      </li>
    </ul>
  </nav>
)
