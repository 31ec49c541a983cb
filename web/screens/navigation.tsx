/** The side of the page: a new chat, the sessions, and the other screens. */

import { can, me } from '../api/me.ts'
import { Icon, type IconName } from '../parts/icon.tsx'
import { addressOf, place } from '../parts/route.ts'
import { t, type Word } from '../words/words.ts'
import { isPaletteOpen } from './keys.ts'
import { SessionList } from './sessions/session-list.tsx'
import { waitingCount } from './sessions/sessions.ts'
import type { Scope } from '../model/types.ts'

type Entry = { readonly screen: Word & IconName; readonly scope: Scope }
const entries: readonly Entry[] = [
  { screen: 'inbox', scope: 'read' },
  { screen: 'sessions', scope: 'read' },
  { screen: 'models', scope: 'read' },
  { screen: 'settings', scope: 'read' },
  { screen: 'usage', scope: 'read' },
  { screen: 'channels', scope: 'read' },
  { screen: 'jobs', scope: 'jobs' },
  { screen: 'batches', scope: 'jobs' },
  { screen: 'evals', scope: 'read' },
  { screen: 'memory', scope: 'read' },
  { screen: 'skills', scope: 'read' },
  { screen: 'mcp', scope: 'read' },
  { screen: 'tools', scope: 'read' },
  { screen: 'plugins', scope: 'read' },
  { screen: 'secrets', scope: 'read' },
  { screen: 'owner', scope: 'admin' },
]

/** The screens that the key may open. */
export const listScreens = (): readonly Entry['screen'][] =>
  entries
    .filter(({ scope }) => can(scope) && (scope !== 'admin' || me.value?.tenant === 'default'))
    .map(({ screen }) => screen)

const isOpen = (screen: string): 'page' | undefined => (place.value.screen === screen ? 'page' : undefined)

export const Navigation = () => (
  <nav class="side" aria-label={t('navigation')}>
    <div class="row">
      <a class="button main grow" href={addressOf('chat')}>
        <Icon name="plus" /> {t('newChat')}
      </a>
      <button
        type="button"
        class="button"
        aria-label={t('palette')}
        title={`${t('palette')} (Ctrl K)`}
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => void (isPaletteOpen.value = true)}
      >
        <Icon name="search" />
      </button>
    </div>
    <SessionList />
    <ul class="screens">
      {[...listScreens(), 'account' as const].map((screen) => (
        <li key={screen}>
          <a href={addressOf(screen)} aria-current={isOpen(screen)}>
            <Icon name={screen} /> {t(screen)}
            {screen === 'inbox' && waitingCount.value > 0 && <span class="badge warn">{waitingCount.value}</span>}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)
