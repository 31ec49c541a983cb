/** The frame of the page: navigation, sessions, and the open screen. */

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { me, signInError } from '../api/me.ts'
import { confirmLinksBy } from '../markdown/open-link.ts'
import { IconButton } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { ask, Questions } from '../parts/dialog.tsx'
import { Waiting } from '../parts/load.tsx'
import { addressOf, place } from '../parts/route.ts'
import { dismissErrors } from '../parts/toast.ts'
import { Toasts } from '../parts/toasts.tsx'
import { t } from '../words/words.ts'
import { Chat } from './chat/chat.tsx'
import { LateScreen } from './late-screen.tsx'
import { isRail, Navigation } from './navigation.tsx'
import { isPaletteOpen, watchKeys } from './keys.ts'
import { watchTitle } from './page-title.ts'
import { isLive, waitingCount, watchSessions } from './sessions/sessions.ts'
import { SignIn } from './sign-in.tsx'

confirmLinksBy(async (href) => (await ask({ title: t('openLink'), text: href, action: t('open') })) !== undefined)

export function App() {
  if (me.value === undefined && !signInError.value) return <Waiting class="page" />
  return (
    <>
      {me.value ? <Frame /> : <SignIn />}
      <Questions />
      <Toasts />
    </>
  )
}

function Frame() {
  const isOpen = useSignal(false)
  useEffect(watchSessions, [])
  useEffect(watchKeys, [])
  useEffect(watchTitle, [])
  useEffect(() => {
    isOpen.value = false
    dismissErrors()
  }, [place.value])
  return (
    <div
      class={`frame ${isOpen.value ? 'open' : ''} ${isRail.value ? 'rail' : ''}`}
      onKeyDown={({ key }) => key === 'Escape' && (isOpen.value = false)}
    >
      <a class="skip" href="#main" onClick={skipToMain}>
        {t('skip')}
      </a>
      <header class="top">
        <IconButton
          icon={isOpen.value ? 'close' : 'menu'}
          label={t('menu')}
          expanded={isOpen.value}
          onClick={() => (isOpen.value = !isOpen.value)}
        />
        <a class="waiting-link" href={addressOf('inbox')}>
          <Icon name="inbox" /> <span class={waitingCount.value ? 'unseen' : undefined}>{t('inbox')}</span>
          {waitingCount.value > 0 && <span class="badge warn">{t('waitingCount', { count: waitingCount.value })}</span>}
        </a>
      </header>
      <Navigation />
      <main id="main" tabIndex={-1}>
        <Banner />
        {place.value.screen === 'chat' ? <Chat /> : <LateScreen name={place.value.screen} />}
      </main>
      {isPaletteOpen.value && <LateScreen name="palette" />}
    </div>
  )
}

/** The chat says itself that the connection of its session is lost. */
function Banner() {
  const isOffline = useSignal(!navigator.onLine)
  useEffect(() => {
    const read = () => void (isOffline.value = !navigator.onLine)
    const names = ['online', 'offline']
    for (const name of names) addEventListener(name, read)
    return () => {
      for (const name of names) removeEventListener(name, read)
    }
  }, [])
  if (!isOffline.value && (isLive.value || place.value.screen === 'chat')) return null
  return (
    <p class="banner" role="status">
      {t(isOffline.value ? 'youAreOffline' : 'reconnecting')}
    </p>
  )
}

/** The fragment names the screen, so the link moves the focus itself. */
function skipToMain(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}
