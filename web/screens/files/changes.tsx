/** Earlier states of the workspace: what has changed since, and the way back. */

import { useState } from 'preact/hooks'
import { api, get, type Page, path } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Diff } from '../../parts/diff.tsx'
import { Panel, useLoad } from '../../parts/load.tsx'
import { showDone } from '../../parts/toast.ts'
import { formatDate } from '../../words/format.ts'
import { t } from '../../words/words.ts'

type Checkpoint = { readonly n: number; readonly at: string; readonly files: readonly unknown[] | number }
type Difference = {
  readonly files: readonly { readonly path: string; readonly added: number; readonly removed: number }[]
  readonly diff: string
  readonly binary: readonly string[]
  readonly left_out: readonly string[]
  readonly truncated: boolean
}
type Rollback = { readonly restored: readonly string[]; readonly kept: readonly string[]; readonly undone: number }

export function Changes({ session }: { readonly session: string }) {
  const list = useLoad(() => get<Page<Checkpoint>>(`${path`/api/sessions/${session}`}/checkpoints`), session)
  return (
    <Panel of={list}>
      {({ data }) => (
        <ul class="list-of">
          {data.map((one) => (
            <Entry key={one.n} session={session} checkpoint={one} onChange={list.reload} />
          ))}
          {!data.length && <li class="note">{t('noCheckpoints')}</li>}
        </ul>
      )}
    </Panel>
  )
}

type EntryProps = { readonly session: string; readonly checkpoint: Checkpoint; readonly onChange: () => Promise<void> }

function Entry({ session, checkpoint: { n, at }, onChange }: EntryProps) {
  const [isOpen, setOpen] = useState(false)
  const rollBack = async () => {
    const changes = await get<Difference>(`${path`/api/sessions/${session}`}/checkpoints/${n}/diff`)
    const text = [t('rollBackText', { n, at: formatDate(at) }), ...summarise(changes)].join('\n')
    if ((await ask({ title: t('rollBack'), text, action: t('rollBack'), isDangerous: true })) === undefined) return
    const { restored, kept, undone } = await api<Rollback>('POST', `${path`/api/sessions/${session}`}/rollback`, {
      body: { n },
    })
    showDone(t('rolledBack', { restored: restored.length, kept: kept.length, undone }))
    await onChange()
  }
  return (
    <li class="card">
      <p class="row">
        <strong>{t('checkpoint', { n })}</strong>
        <time dateTime={at}>{formatDate(at)}</time>
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

/** Names the files that have changed since the checkpoint, and those of which it has no copy. */
function summarise({ files, binary, left_out: unkept }: Difference): readonly string[] {
  const changed = [...files.map(({ path: name, added, removed }) => `${name} +${added} −${removed}`), ...binary]
  return [
    ...listed('rollBackUndoes', changed),
    ...listed('rollBackKeeps', unkept),
    ...(changed.length ? [] : [t('noChanges')]),
  ]
}

function listed(word: 'rollBackUndoes' | 'rollBackKeeps', names: readonly string[]): readonly string[] {
  if (!names.length) return []
  const rest = names.length - maxListed
  return ['', t(word), ...names.slice(0, maxListed), ...(rest > 0 ? [`… ${rest}`] : [])]
}

function Since({ session, n }: { readonly session: string; readonly n: number }) {
  const found = useLoad(() => get<Difference>(`${path`/api/sessions/${session}`}/checkpoints/${n}/diff`), `${n}`)
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
