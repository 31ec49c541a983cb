/** One field takes a key or a link. */

import { useState } from 'preact/hooks'
import type { ApiError } from '../api/client.ts'
import { signIn, signInError } from '../api/me.ts'
import { Button } from '../parts/button.tsx'
import { explain } from '../parts/toast.ts'
import { t } from '../words/words.ts'

const explainRefusal = (error: ApiError): string => (error.status === 401 ? t('wrongKey') : explain(error))

export function SignIn() {
  const [value, setValue] = useState('')
  const submit = async () => {
    const given = value.trim()
    if (given) await signIn(given.includes('#in=') ? { link: given } : { key: given })
  }
  const error = signInError.value
  return (
    <main class="sign-in">
      <header>
        <div class="brand">
          <img src="/icon.svg" alt="" width="36" height="36" />
          <strong>Talaria</strong>
        </div>
        <p>{t('tagline')}</p>
      </header>
      <div>
        <h1>{t('signIn')}</h1>
        <p class="note">{t('signInText')}</p>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void submit()
          }}
        >
          <label>
            {t('keyOrLink')}
            <input
              type="password"
              autocomplete="current-password"
              value={value}
              autofocus
              onInput={(event) => setValue(event.currentTarget.value)}
            />
          </label>
          {error && (
            <p class="failure" role="alert">
              {explainRefusal(error)}
            </p>
          )}
          <Button kind="main" onClick={submit}>
            {t('signIn')}
          </Button>
        </form>
        <p class="note">{t('whereKey')}</p>
        {!isSecureContext && <p class="failure">{t('plainHttp')}</p>}
        <p class="note">
          <a href="/docs/">{t('documentation')}</a> <a href="/docs">{t('apiReference')}</a>
        </p>
      </div>
    </main>
  )
}
