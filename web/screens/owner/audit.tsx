/** The audit log, by kind and by who did it. */

import { useState } from 'preact/hooks'
import { get, type Page } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/form.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { formatDate } from '../../words/format.ts'
import { t } from '../../words/words.ts'

type AuditEntry = {
  readonly at: string
  readonly kind: string
  readonly actor: string | null
  readonly subject: string
}

/** The first words of the kinds. */
const groups = [
  'approval',
  'channel',
  'credential',
  'key',
  'login',
  'pairing',
  'secret',
  'session',
  'settings',
  'skill',
  'tenant',
]

export function Audit() {
  const [kind, setKind] = useState('')
  const [actor, setActor] = useState('')
  const addressFrom = (cursor = '') => {
    const parameters = new URLSearchParams({ limit: '50' })
    for (const [name, value] of Object.entries({ kind, actor: actor.trim(), cursor }))
      if (value) parameters.set(name, value)
    return `/api/audit?${parameters}`
  }
  const entries = useLoad(() => get<Page<AuditEntry>>(addressFrom()), addressFrom())
  const more = async (page: Page<AuditEntry>) => {
    const next = await get<Page<AuditEntry>>(addressFrom(page.next_cursor ?? ''))
    entries.set({ ...next, data: [...page.data, ...next.data] })
  }
  return (
    <section class="list-of" aria-label={t('audit')}>
      <h2>{t('audit')}</h2>
      <div class="row filters">
        <Choice
          label={t('action')}
          value={kind}
          options={[['', t('all')], ...groups.map((one) => [one, one] as const)]}
          onChange={setKind}
        />
        <label>
          {t('actor')}
          <input
            placeholder="key:ID"
            autocomplete="off"
            value={actor}
            onChange={(event) => setActor(event.currentTarget.value)}
          />
        </label>
      </div>
      <Panel of={entries}>
        {(page) => (
          <>
            <ul class="list-of">
              {page.data.map(({ at, kind: did, actor: by, subject }, index) => (
                <li key={index} class="row">
                  <time dateTime={at}>{formatDate(at)}</time> <strong>{did}</strong> <span class="note">{by}</span>
                  <code class="clip">{subject}</code>
                </li>
              ))}
              {!page.data.length && <li class="note">{t('noEntries')}</li>}
            </ul>
            {page.next_cursor && <Button onClick={() => more(page)}>{t('more')}</Button>}
          </>
        )}
      </Panel>
    </section>
  )
}
