/** The settings as JSON. A diff shows what changes before it is saved, and only the changes are sent. */

import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { diffLines, patchBetween } from '../../model/line-diff.ts'
import { Button } from '../../parts/button.tsx'
import { Diff } from '../../markdown/diff.tsx'
import { showDone } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'

type Props = { readonly settings: object; readonly onSaved: (settings: object) => void }

export function Raw({ settings, onSaved }: Props) {
  const before = JSON.stringify(settings, null, 2)
  const [text, setText] = useState(before)
  const [change, setChange] = useState<{ readonly patch: unknown; readonly diff: string } | undefined>(undefined)
  const review = () => {
    const after = JSON.parse(text) as unknown
    const patch = patchBetween(settings, after)
    setChange({ patch, diff: diffLines(before, JSON.stringify(after, null, 2)) })
  }
  const save = async () => {
    onSaved(await api<object>('PATCH', '/api/settings', { body: change?.patch }))
    showDone(t('saved'))
  }
  return (
    <div class="form">
      <textarea
        aria-label={t('raw')}
        spellcheck={false}
        readOnly={!can('write')}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value)
          setChange(undefined)
        }}
      />
      {change && (change.diff ? <Diff text={change.diff} /> : <p class="note">{t('noChanges')}</p>)}
      {can('write') && (
        <div class="row end">
          {change?.patch === undefined ? (
            <Button onClick={review} disabled={text === before}>
              {t('reviewChanges')}
            </Button>
          ) : (
            <Button kind="main" onClick={save}>
              {t('save')}
            </Button>
          )}
        </div>
      )}
    </div>
  )
}
