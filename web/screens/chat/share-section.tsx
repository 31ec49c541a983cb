/** The links under which everybody reads the conversation: made, copied and revoked. */

import { useState } from 'preact/hooks'
import { api, get, path } from '../../api/client.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Choice } from '../../parts/form.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { formatDate } from '../../words/format.ts'
import { t, wordsOf } from '../../words/words.ts'
import { copy } from './copy.ts'

type Share = {
  readonly id: string
  readonly url: string
  readonly created_at: string
  readonly expires_at: string | null
}

const days = ['7', '1', '30', ''] as const

export function ShareSection({ id }: { readonly id: string }) {
  const shares = useLoad(() => get<{ readonly data: readonly Share[] }>(path`/api/sessions/${id}/shares`), id)
  const [wished, setWished] = useState<string>(days[0])
  const create = async () => {
    const body = wished ? { days: Number(wished) } : {}
    const { url } = await api<Share>('POST', path`/api/sessions/${id}/shares`, { body })
    await shares.reload()
    // Some browsers allow no copy behind a request.
    await copy(url).catch(() => undefined)
  }
  const revoke = async (share: string) => {
    await api('DELETE', path`/api/sessions/${id}/shares/${share}`)
    await shares.reload()
  }
  return (
    <details class="list-of">
      <summary>{t('share')}</summary>
      <p class="note">{say('shareText')}</p>
      <div class="row">
        <Choice
          label={say('validFor')}
          value={wished}
          options={days.map((count) => [count, count ? say('dayCount', { count }) : say('unlimited')] as const)}
          onChange={setWished}
        />
        <Button onClick={create}>{t('createLink')}</Button>
      </div>
      <Panel of={shares}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((one) => (
              <li key={one.id} class="row">
                <input class="grow" readOnly aria-label={t('link')} value={one.url} />
                <span class="note">
                  {one.expires_at ? t('validUntil', { at: formatDate(one.expires_at) }) : say('unlimited')}
                </span>
                <IconButton icon="copy" label={t('copy')} onClick={() => copy(one.url)} />
                <Button onClick={() => revoke(one.id)}>{t('revoke')}</Button>
              </li>
            ))}
          </ul>
        )}
      </Panel>
    </details>
  )
}

const { say } = wordsOf(
  {
    shareText:
      'Everybody who has the link reads what was said so far: without tools, thinking and files, and nothing that is said later.',
    validFor: 'Valid for',
    dayCount: '{count} days',
    unlimited: 'unlimited',
  },
  {
    shareText:
      'Wer den Link hat, liest, was bisher gesagt wurde: ohne Werkzeuge, Gedanken und Dateien, und nichts, was später gesagt wird.',
    validFor: 'Gültig für',
    dayCount: '{count} Tage',
    unlimited: 'unbegrenzt',
  },
)
