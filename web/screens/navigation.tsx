/** The side of the page: a new chat, the sessions, and the other screens. It can be made as small as its icons. */

import { effect, signal } from '@preact/signals'
import { can, me } from '../api/me.ts'
import { IconButton } from '../parts/button.tsx'
import { Icon, type IconName } from '../parts/icon.tsx'
import { addressOf, place } from '../parts/route.ts'
import { t, type Word } from '../words/words.ts'
import { isPaletteOpen } from './keys.ts'
import { SessionList } from './sessions/session-list.tsx'
import { sessions, waitingCount } from './sessions/sessions.ts'
import type { Scope } from '../model/types.ts'

type Entry = { readonly screen: Word & IconName; readonly scope: Scope }
const entries: readonly Entry[] = [
  { screen: 'inbox', scope: 'read' },
  { screen: 'jobs', scope: 'jobs' },
  { screen: 'sessions', scope: 'read' },
  { screen: 'projects', scope: 'read' },
  { screen: 'models', scope: 'read' },
  { screen: 'settings', scope: 'read' },
  { screen: 'usage', scope: 'read' },
  { screen: 'channels', scope: 'read' },
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
/** Those that stand above the sessions. */
const daily: readonly string[] = ['inbox', 'jobs']

/** The screens that the key may open. */
export const listScreens = (): readonly Entry['screen'][] =>
  entries
    .filter(({ scope }) => can(scope) && (scope !== 'admin' || me.value?.tenant === 'default'))
    .map(({ screen }) => screen)

const railKey = 'talaria.rail'
/** Whether only the icons are shown. Phones show all or nothing. */
export const isRail = signal(localStorage.getItem(railKey) !== null)
effect(() => (isRail.value ? localStorage.setItem(railKey, '') : localStorage.removeItem(railKey)))

const isOpen = (screen: string): 'page' | undefined => (place.value.screen === screen ? 'page' : undefined)

type LinkProps = { readonly screen: Word & IconName; readonly id?: string | undefined }

const ScreenLink = ({ screen, id }: LinkProps) => (
  <a href={addressOf(screen, id)} aria-current={isOpen(screen)} title={t(screen)}>
    <Icon name={screen} /> <span class="name grow">{t(screen)}</span>
    {screen === 'inbox' && waitingCount.value > 0 && <span class="badge warn">{waitingCount.value}</span>}
  </a>
)

/** The files of the open session, else of the newest one. */
function FilesLink() {
  const { screen, id } = place.value
  const session = ['chat', 'files'].includes(screen) && id ? id : sessions.value[0]?.id
  return session === undefined ? null : <ScreenLink screen="files" id={session} />
}

const Daily = () => (
  <div class="screens">
    <a class="new" href={addressOf('chat')} title={t('newChat')}>
      <Icon name="plus" /> <span class="name">{t('newChat')}</span>
    </a>
    <button
      type="button"
      title={`${t('palette')} (Ctrl K)`}
      aria-keyshortcuts="Control+K Meta+K"
      onClick={() => void (isPaletteOpen.value = true)}
    >
      <Icon name="search" /> <span class="name grow">{t('goTo')}</span>
      <kbd class="name" aria-hidden="true">
        Ctrl K
      </kbd>
    </button>
    {listScreens()
      .filter((screen) => daily.includes(screen))
      .map((screen) => (
        <ScreenLink key={screen} screen={screen} />
      ))}
    <FilesLink />
  </div>
)

const menuId = 'more-screens'

/** All screens that are not opened every day. */
const MoreScreens = () => (
  <ul
    id={menuId}
    class="screens"
    popover="auto"
    aria-label={t('moreScreens')}
    onClick={(event) => event.currentTarget.hidePopover()}
  >
    {listScreens()
      .filter((screen) => !daily.includes(screen))
      .map((screen) => (
        <li key={screen}>
          <ScreenLink screen={screen} />
        </li>
      ))}
  </ul>
)

export const Navigation = () => (
  <nav class="side" aria-label={t('navigation')}>
    <div class="brand">
      <img src="/icon.svg" alt="" width="26" height="26" />
      <strong class="name grow">Talaria</strong>
      <IconButton
        icon="side"
        label={t(isRail.value ? 'openSide' : 'closeSide')}
        expanded={!isRail.value}
        onClick={() => void (isRail.value = !isRail.value)}
      />
    </div>
    <Daily />
    <SessionList />
    <div class="screens foot">
      <ScreenLink screen="account" />
      <button type="button" popovertarget={menuId} aria-label={t('moreScreens')} title={t('moreScreens')}>
        <Icon name="settings" />
      </button>
    </div>
    <MoreScreens />
  </nav>
)
