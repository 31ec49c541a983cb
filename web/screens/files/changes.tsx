/** Earlier states of the workspace: what has changed since, and the way back. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { type Checkpoint, type Difference, type Prediction, predictRollback } from '../../model/rollback.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Diff } from '../../markdown/diff.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { showDone } from '../../parts/toast.ts'
import { formatDate } from '../../words/format.ts'
import { t, wordsOf } from '../../words/words.ts'

type Compared = Difference & { readonly diff: string; readonly truncated: boolean }
type Rollback = { readonly restored: readonly string[]; readonly kept: readonly string[]; readonly undone: number }

export function Changes({ session }: { readonly session: string }) {
  const list = useLoad(() => get<Page<Checkpoint>>(`${path`/api/sessions/${session}`}/checkpoints`), session)
  return (
    <>
      {can('write') && (
        <p>
          <Button onClick={() => nameState(session).then(list.reload)}>{say('nameState')}</Button>
        </p>
      )}
      <Panel of={list}>
        {({ data }) => (
          <ul class="list-of">
            {data.map((one) => (
              <Entry key={one.n} session={session} checkpoint={one} all={data} onChange={list.reload} />
            ))}
            {!data.length && <li class="note">{say('noCheckpoints')}</li>}
          </ul>
        )}
      </Panel>
    </>
  )
}

async function nameState(session: string): Promise<void> {
  const name = await ask({ title: say('nameState'), text: say('nameText'), action: t('save'), field: '' })
  if (name?.trim()) await api('POST', `${path`/api/sessions/${session}`}/checkpoints`, { body: { name: name.trim() } })
}

type EntryProps = {
  readonly session: string
  readonly checkpoint: Checkpoint
  readonly all: readonly Checkpoint[]
  readonly onChange: () => Promise<void>
}

function Entry({ session, checkpoint: { n, at, name, files, count }, all, onChange }: EntryProps) {
  const [isOpen, setOpen] = useState(false)
  const rollBack = async () => {
    const changes = await get<Compared>(`${path`/api/sessions/${session}`}/checkpoints/${n}/diff`)
    const prediction = predictRollback(n, all, changes)
    const when = formatDate(at)
    const said = name === null ? t('rollBackText', { at: when }) : say('rollBackText', { name, at: when })
    const text = [said, ...summarise(prediction)].join('\n')
    if ((await ask({ title: t('rollBack'), text, action: t('rollBack'), isDangerous: true })) === undefined) return
    const { restored, kept, undone } = await api<Rollback>('POST', `${path`/api/sessions/${session}`}/rollback`, {
      // To a named state the files go back alone.
      body: name === null ? { n } : { name },
    })
    showDone(say('rolledBack', { restored: restored.length, kept: kept.length, undone }))
    await onChange()
  }
  return (
    <li class="card">
      <p class="row">
        <strong>
          {name === null ? t('checkpoint') : <span dir="auto">{name}</span>} <time dateTime={at}>{formatDate(at)}</time>
        </strong>
        {name !== null && <span class="badge">{say('named')}</span>}
        <span class="note grow clip">{nameFiles(files, count)}</span>
        {can('write') && <Button onClick={rollBack}>{t('rollBack')}</Button>}
      </p>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{t('diff')}</summary>
        {isOpen && <Since session={session} n={n} />}
      </details>
    </li>
  )
}

const maxListed = 15

/** The files that the turn changed. */
const nameFiles = (files: readonly string[], count: number): string => {
  const shown = files.slice(0, 3)
  return [...shown, ...(count > shown.length ? [`+${count - shown.length}`] : [])].join(', ')
}

const summarise = ({ restored, kept, unkept }: Prediction): readonly string[] => [
  ...listed('rollBackUndoes', restored),
  ...listed('rollBackLeaves', kept),
  ...listed('rollBackKeeps', unkept),
]

function listed(
  word: 'rollBackUndoes' | 'rollBackLeaves' | 'rollBackKeeps',
  names: readonly string[],
): readonly string[] {
  if (!names.length) return []
  const rest = names.length - maxListed
  return ['', t(word), ...names.slice(0, maxListed), ...(rest > 0 ? [`… ${rest}`] : [])]
}

function Since({ session, n }: { readonly session: string; readonly n: number }) {
  const found = useLoad(() => get<Compared>(`${path`/api/sessions/${session}`}/checkpoints/${n}/diff`), `${n}`)
  return (
    <Panel of={found}>
      {({ diff, binary, truncated }) => (
        <>
          {diff ? <Diff text={diff} /> : <p class="note">{t('noChanges')}</p>}
          {binary.length > 0 && <p class="note">{binary.join(', ')}</p>}
          {truncated && <p class="note">{t('truncated')}</p>}
        </>
      )}
    </Panel>
  )
}

const { say } = wordsOf(
  {
    noCheckpoints: 'No turn has changed a file yet.',
    rolledBack: '{restored} restored, {kept} kept, {undone} turns undone.',
    named: 'Named',
    nameState: 'Name this state',
    nameText: 'The files as they are now can be restored under this name. The conversation stays as it is.',
    rollBackText: 'The files go back to “{name}” of {at}. The conversation stays as it is.',
  },
  {
    noCheckpoints: 'Noch keine Runde hat eine Datei geändert.',
    rolledBack: '{restored} zurückgesetzt, {kept} behalten, {undone} Runden entfernt.',
    named: 'Benannt',
    nameState: 'Diesen Stand benennen',
    nameText:
      'Die Dateien, wie sie jetzt sind, lassen sich unter diesem Namen wiederherstellen. Das Gespräch bleibt, wie es ist.',
    rollBackText: 'Die Dateien gehen auf „{name}“ vom {at} zurück. Das Gespräch bleibt, wie es ist.',
  },
)
