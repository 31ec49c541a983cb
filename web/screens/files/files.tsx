/** The workspace of a session: its files, and what changed since when. */

import { useState } from 'preact/hooks'
import { filePath, get, type Page, send } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf, goTo, place } from '../../parts/route.ts'
import { formatBytes } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { Changes } from './changes.tsx'
import { Preview } from './preview.tsx'

export type Entry = {
  readonly path: string
  readonly name: string
  readonly type: 'file' | 'directory' | 'link'
  readonly size: number
}

const maxUpload = 10_000_000

export function Files() {
  const { id, part } = place.value
  const [tab, setTab] = useState<'files' | 'changes'>('files')
  return (
    <Screen
      title={t('files')}
      actions={
        <>
          <a href={addressOf('chat', id)}>{t('toSession')}</a>
          <Button onClick={() => setTab(tab === 'files' ? 'changes' : 'files')}>
            {t(tab === 'files' ? 'diff' : 'files')}
          </Button>
        </>
      }
    >
      {tab === 'changes' ? (
        <Changes session={id} />
      ) : (
        <div class="columns">
          <Folder session={id} path={folderOf(part)} open={part} />
          {part.startsWith('file:') ? (
            <Preview key={part} session={id} path={part.slice(5)} />
          ) : (
            <p class="note">{t('chooseFile')}</p>
          )}
        </div>
      )}
    </Screen>
  )
}

/** The last part of the address is `dir:PATH` or `file:PATH`. */
const folderOf = (part: string): string => {
  const path = part.replace(/^(?:dir|file):/, '')
  return part.startsWith('file:') ? path.split('/').slice(0, -1).join('/') : path
}

type FolderProps = { readonly session: string; readonly path: string; readonly open: string }

function Folder({ session, path, open }: FolderProps) {
  const list = useLoad(() => get<Page<Entry>>(filePath(session, path)), path)
  const upload = async (files: readonly File[]) => {
    for (const file of files) {
      if (file.size > maxUpload) throw new Error(t('tooLarge', { name: file.name, max: '10 MB' }))
      await send('PUT', filePath(session, path ? `${path}/${file.name}` : file.name), { body: file })
    }
    await list.reload()
  }
  const create = async () => {
    const name = await ask({ title: t('newFile'), action: t('add'), field: path ? `${path}/` : '' })
    if (!name?.trim()) return
    await send('PUT', filePath(session, name.trim()), { body: new Blob(['']), headers: { 'if-none-match': '*' } })
    goTo('files', session, `file:${name.trim()}`)
    await list.reload()
  }
  return (
    <nav
      class="tree"
      aria-label={t('files')}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => dropped(event, upload)}
    >
      {path && <a href={addressOf('files', session, `dir:${path.split('/').slice(0, -1).join('/')}`)}>↑ {path}</a>}
      <Panel of={list}>
        {({ data }) => (
          <ul>
            {data.map((entry) => (
              <Row key={entry.path} session={session} entry={entry} open={open} />
            ))}
            {!data.length && <li class="note">{t('noFiles')}</li>}
          </ul>
        )}
      </Panel>
      {can('write') && (
        <div class="row">
          <Button onClick={create}>{t('newFile')}</Button>
          <label class="button">
            {t('upload')}
            <input
              class="unseen"
              type="file"
              multiple
              onChange={(event) => upload([...(event.currentTarget.files ?? [])])}
            />
          </label>
        </div>
      )}
    </nav>
  )
}

const dropped = (event: DragEvent, upload: (files: readonly File[]) => Promise<void>): void => {
  event.preventDefault()
  void upload([...(event.dataTransfer?.files ?? [])])
}

/** Paths of entries begin with the folder of the workspace. */
const inWorkspace = (path: string): string => path.replace(/^\/workspace\//, '').replace(/^\//, '')

const Row = ({ session, entry, open }: { readonly session: string; readonly entry: Entry; readonly open: string }) => {
  const part = `${entry.type === 'directory' ? 'dir' : 'file'}:${inWorkspace(entry.path)}`
  return (
    <li>
      <a href={addressOf('files', session, part)} aria-current={open === part ? 'page' : undefined}>
        <span class="clip grow">{entry.type === 'directory' ? `${entry.name}/` : entry.name}</span>
        {entry.type !== 'directory' && <span class="note">{formatBytes(entry.size)}</span>}
      </a>
    </li>
  )
}
