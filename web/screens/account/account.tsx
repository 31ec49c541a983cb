/** The person at this page: rights of the key, a link for the phone, appearance, and the way out. */

import { can, leave, me } from '../../api/me.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/form.tsx'
import { Screen } from '../../parts/load.tsx'
import { addressOf } from '../../parts/route.ts'
import { applyTheme, type Theme, theme, themes } from '../../parts/theme.ts'
import { chooseLanguage, chosenLanguage, t, wordsOf } from '../../words/words.ts'
import { AppList } from '../access/app-list.tsx'
import { KeyList } from '../access/key-list.tsx'
import { Scopes } from '../access/scopes.tsx'
import { PushSwitch } from './push-switch.tsx'
import { SignInLink } from './sign-in-link.tsx'

export function Account() {
  const known = me.value
  if (!known) return null
  return (
    <Screen title={t('account')} actions={<Button onClick={leave}>{t('signOut')}</Button>}>
      <p>
        {say(known.key.name ? 'signedInAs' : 'signedIn', { name: known.key.name, tenant: known.tenant })}{' '}
        <span class="note">
          {say('mayDo')} <Scopes of={known.key.scopes} />
        </span>
      </p>
      <Choice
        label={t('theme')}
        value={theme.value}
        options={themes.map((name) => [name, t(`theme_${name}`)] as const)}
        onChange={(name) => applyTheme(name as Theme)}
      />
      <Choice
        label={t('language')}
        value={chosenLanguage()}
        options={[
          ['', t('theme_system')],
          ['en', 'English'],
          ['de', 'Deutsch'],
        ]}
        onChange={(name) => void chooseLanguage(name)}
      />
      <SignInLink />
      <PushSwitch />
      {can('read') && <KeyList route="/api/keys" />}
      {can('read') && <AppList />}
      <p class="row">
        <a href={addressOf('keys')}>{t('shortcuts')}</a> <a href="/docs/">{t('documentation')}</a>{' '}
        <a href="/docs">{t('apiReference')}</a> <span class="note">Talaria {known.version}</span>
      </p>
    </Screen>
  )
}

const { say } = wordsOf(
  {
    mayDo: 'Your key may:',
    signedIn: 'Signed in to {tenant}.',
    signedInAs: 'Signed in with {name} in {tenant}.',
  },
  {
    mayDo: 'Dein Schlüssel darf:',
    signedIn: 'Angemeldet in {tenant}.',
    signedInAs: 'Angemeldet mit {name} in {tenant}.',
  },
)
