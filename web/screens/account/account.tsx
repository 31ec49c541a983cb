/** The person at this page: rights of the key, a link for the phone, appearance, and the way out. */

import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { leave, me } from '../../api/me.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/form.tsx'
import { Screen } from '../../parts/load.tsx'
import { addressOf } from '../../parts/route.ts'
import { applyTheme, type Theme, theme, themes } from '../../parts/theme.ts'
import { PushSwitch } from './push-switch.tsx'
import { formatTime } from '../../words/format.ts'
import { chooseLanguage, chosenLanguage, t } from '../../words/words.ts'

type Link = { readonly url: string; readonly expires_at: string }

export function Account() {
  const known = me.value
  if (!known) return null
  return (
    <Screen title={t('account')} actions={<Button onClick={leave}>{t('signOut')}</Button>}>
      <p>
        {t('signedInAs', { name: known.key.name, tenant: known.tenant })}{' '}
        <span class="note">{known.key.scopes.join(', ')}</span>
      </p>
      <SignInLink />
      <PushSwitch />
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
      <p class="row">
        <a href={addressOf('keys')}>{t('shortcuts')}</a> <a href="/docs/">{t('documentation')}</a>{' '}
        <a href="/docs">{t('apiReference')}</a> <span class="note">Talaria {known.version}</span>
      </p>
    </Screen>
  )
}

function SignInLink() {
  const [link, setLink] = useState<Link | undefined>(undefined)
  const create = async () => setLink(await api<Link>('POST', '/api/login/links', { body: {} }))
  return (
    <section class="card">
      <h2>{t('otherDevice')}</h2>
      {link ? (
        <p>
          <code class="code-once">{link.url}</code>{' '}
          <span class="note">{t('validUntil', { at: formatTime(link.expires_at) })}</span>
        </p>
      ) : (
        <p class="note">{t('otherDeviceText')}</p>
      )}
      <div class="row">
        <Button onClick={create}>{t('createLink')}</Button>
      </div>
    </section>
  )
}
