/** The workspace of a session: its files, and what changed since when. */

import { useState } from 'preact/hooks'
import { filePath, get, type Page } from '../../api/client.ts'
import { can } from '../../api/me.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { Panel, Screen, useLoad } from '../../parts/load.tsx'
import { addressOf, goTo, place } from '../../parts/route.ts'
import { showDone, showError } from '../../parts/toast.ts'
import { formatBytes } from '../../words/format.ts'
import { t } from '../../words/words.ts'
import { Changes } from './changes.tsx'
import { inOurWords } from './file-errors.ts'
import { Preview } from './preview.tsx'
import { createFile, type Sending, uploadFiles } from './put-files.ts'

export type Entry = {
  readonly path: string
  readonly name: string
  readonly type: 'file' | 'directory' | 'link'
  readonly size: number
}

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
        <div class={part.startsWith('file:') ? 'columns has-file' : 'columns'}>
          <Folder key={part.startsWith('file:') ? part : ''} session={id} path={folderOf(part)} open={part} />
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
  const list = useLoad(() => get<Page<Entry>>(filePath(session, path)).catch(inOurWords), path)
  const [sending, setSending] = useState<Sending | undefined>(undefined)
  const upload = async (files: readonly File[]) => {
    await uploadFiles({ session, folder: path }, files, setSending).finally(list.reload)
    showDone(t('saved'))
  }
  const create = async () => {
    const name = (await ask({ title: t('newFile'), action: t('add'), field: path ? `${path}/` : '' }))?.trim()
    if (!name) return
    await createFile(session, name)
    goTo('files', session, `file:${name}`)
    await list.reload()
  }
  return (
    <nav
      class="tree"
      aria-label={t('files')}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => dropped(event, upload)}
      onKeyDown={moveFocus}
    >
      {path && <Above session={session} path={path} />}
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
      {sending && <progress aria-label={t('uploading', { name: sending.name })} value={sending.share} />}
      {can('write') && (
        <div class="row">
          <Button onClick={create}>{t('newFile')}</Button>
          <label class="button">
            {t('upload')}
            <input
              class="unseen"
              type="file"
              multiple
              onChange={(event) => upload([...(event.currentTarget.files ?? [])]).catch(showError)}
            />
          </label>
        </div>
      )}
    </nav>
  )
}

const Above = ({ session, path }: Omit<FolderProps, 'open'>) => (
  <a class="up" href={addressOf('files', session, `dir:${path.split('/').slice(0, -1).join('/')}`)}>
    ↑ {path}
  </a>
)

const dropped = (event: DragEvent, upload: (files: readonly File[]) => Promise<void>): void => {
  event.preventDefault()
  upload([...(event.dataTransfer?.files ?? [])]).catch(showError)
}

/** Up and Down go through the entries. A link opens by Enter, and Left leads to the folder above. */
function moveFocus(event: KeyboardEvent): void {
  const tree = event.currentTarget as HTMLElement
  const links = [...tree.querySelectorAll<HTMLElement>('a')]
  const at = links.findIndex((link) => link === document.activeElement)
  if (at < 0) return
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step !== undefined) links[at + step]?.focus()
  else if (event.key === 'ArrowLeft') tree.querySelector<HTMLElement>('a.up')?.click()
  else if (event.key === 'ArrowRight') links[at]?.click()
  else return
  event.preventDefault()
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
