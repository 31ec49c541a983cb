/** Shows a file that the agent has made beside the chat: as what it is, its source, its versions and their changes. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { get, type Page, path as pathOf } from '../../../api/client.ts'
import { can } from '../../../api/me.ts'
import { refer } from '../../../model/completion.ts'
import { extensionOf, nameOf } from '../../../model/workspace-files.ts'
import { listVersions } from '../../../model/versions.ts'
import { Diff } from '../../../markdown/diff.tsx'
import { CodeBlock } from '../../../markdown/code-block.tsx'
import { showBidi } from '../../../markdown/links.ts'
import { Button, IconButton } from '../../../parts/button.tsx'
import { Icon } from '../../../parts/icon.tsx'
import { download } from '../../../parts/download.ts'
import { type Loaded, Panel, useLoad } from '../../../parts/load.tsx'
import { addressOf } from '../../../parts/route.ts'
import { formatBytes } from '../../../words/format.ts'
import { t } from '../../../words/words.ts'
import { type FileContent, readContent, wasThere } from '../../files/file-content.ts'
import { isRendered, Rendered } from '../../files/views/rendered.tsx'
import { readDraft, suggest } from '../draft.ts'
import { timeline } from '../store.ts'
import { closeArtifact, opened, type Opened } from './opened.ts'
import { VersionSwitch } from './version-switch.tsx'

type View = 'shown' | 'source' | 'changes'
type Checkpoint = { readonly n: number; readonly files: readonly string[] }

export function ArtifactPanel({ file }: { readonly file: Opened }) {
  const { session, path } = file
  const [isFull, setFull] = useState(false)
  const [view, setView] = useState<View>('shown')
  const versions = useLoad(() => loadVersions(file), `${session} ${path}`)
  /** Undefined: the newest one. */
  const [chosen, choose] = useState<number>()
  const older = versions.data ?? []
  const checkpoint = chosen === undefined ? undefined : older[chosen]
  const content = useLoad(() => readContent({ session, path, checkpoint }), `${session} ${path} ${checkpoint ?? ''}`)
  useFollowRuns(() => {
    choose(undefined)
    void content.reload()
    void versions.reload()
  })
  const panel = useModal(isFull, file)
  return (
    <aside
      ref={panel}
      class={isFull ? 'artifact full' : 'artifact'}
      aria-label={path}
      onKeyDown={(event) => event.key === 'Escape' && closeArtifact()}
    >
      <header class="artifact-head">
        <h2 class="clip grow" tabIndex={-1} dir="auto" title={path}>
          {showBidi(nameOf(path))}
        </h2>
        {older.length > 0 && (
          <VersionSwitch
            at={chosen ?? older.length}
            count={older.length + 1}
            onChoose={(at) => choose(at === older.length ? undefined : at)}
          />
        )}
        <IconButton
          icon={isFull ? 'shrink' : 'grow'}
          label={t(isFull ? 'smaller' : 'fullScreen')}
          onClick={() => setFull(!isFull)}
        />
        <IconButton icon="close" label={t('close')} onClick={closeArtifact} />
      </header>
      <Tools {...{ file, view, content }} hasChanges={older.length > 0} onView={setView} />
      <div class="artifact-view" tabIndex={0} role="region" aria-label={t(view)}>
        {view === 'changes' ? (
          <Changes file={file} from={older[(chosen ?? older.length) - 1]} to={checkpoint} />
        ) : (
          <Panel of={content}>
            {(data) =>
              view === 'shown' && isRendered(data, path) ? (
                <Rendered key={`${checkpoint ?? ''} ${data.tag}`} file={data} place={{ session, path, checkpoint }} />
              ) : (
                <Source file={data} path={path} />
              )
            }
          </Panel>
        )}
      </div>
    </aside>
  )
}

/** The oldest one may be the time before the file was made. */
async function loadVersions({ session, path }: Opened): Promise<readonly number[]> {
  const { data } = await get<Page<Checkpoint>>(`${pathOf`/api/sessions/${session}/checkpoints`}?limit=100`)
  const [first, ...rest] = listVersions(data, path)
  if (first === undefined) return []
  return (await wasThere({ session, path, checkpoint: first })) ? [first, ...rest] : rest
}

/** Shows what a run has made of the file. */
function useFollowRuns(onEnd: () => void): void {
  const ended = timeline.value.ended?.runId
  const last = useRef(ended)
  useEffect(() => {
    if (ended !== undefined && ended !== last.current) onEnd()
    last.current = ended
  }, [ended])
}

const covers = '(max-width: 60rem)'

/** A file that covers the chat does not stay open behind another screen. */
function closeLeft(file: Opened): void {
  if (opened.value === file && matchMedia(covers).matches) opened.value = undefined
}

/** Takes the focus. Where it covers the page, the rest of the page takes none. */
function useModal(isFull: boolean, file: Opened) {
  const panel = useRef<HTMLElement>(null)
  useEffect(() => {
    panel.current?.querySelector('h2')?.focus()
    return () => closeLeft(file)
  }, [])
  useEffect(() => {
    const narrow = matchMedia(covers)
    const covered = [...document.querySelectorAll<HTMLElement>('.skip, .top, .side, .chat')]
    const cover = () => {
      for (const one of covered) one.inert = isFull || narrow.matches
    }
    cover()
    narrow.addEventListener('change', cover)
    return () => {
      narrow.removeEventListener('change', cover)
      for (const one of covered) one.inert = false
    }
  }, [isFull])
  return panel
}

type ToolsProps = {
  readonly file: Opened
  readonly view: View
  readonly content: Loaded<FileContent>
  readonly hasChanges: boolean
  readonly onView: (view: View) => void
}

function Tools({ file: { session, path }, view, content: { data }, hasChanges, onView }: ToolsProps) {
  const views: readonly View[] = [
    ...(data && isRendered(data, path) ? ['shown' as const] : []),
    ...(data?.text === undefined ? [] : ['source' as const]),
    ...(hasChanges ? ['changes' as const] : []),
  ]
  const change = () => {
    closeIfCovering()
    suggest([refer(path), readDraft(session)].join(' '))
  }
  const type = extensionOf(path).toUpperCase() || t('file')
  return (
    <div class="row artifact-tools">
      {views.length > 1 && (
        <div class="row views" role="group" aria-label={t('view')}>
          {views.map((one) => (
            <button key={one} type="button" class="button" aria-pressed={one === view} onClick={() => onView(one)}>
              {t(one)}
            </button>
          ))}
        </div>
      )}
      <span class="note grow clip">{data ? `${type} · ${formatBytes(data.blob.size)}` : ''}</span>
      {can('chat') && <Button onClick={change}>{t('changeThis')}</Button>}
      <a
        class="icon-button"
        href={addressOf('files', session, `file:${path}`)}
        aria-label={t('openInFiles')}
        title={t('openInFiles')}
      >
        <Icon name="files" />
      </a>
      <IconButton
        icon="save"
        label={t('download')}
        disabled={!data}
        onClick={() => data && download(nameOf(path), data.blob)}
      />
    </div>
  )
}

/** The field of the message is beneath it. */
function closeIfCovering(): void {
  if (document.querySelector<HTMLElement>('.chat')?.inert) closeArtifact()
}

function Source({ file: { text }, path }: { readonly file: FileContent; readonly path: string }) {
  if (text === undefined) return <p class="note">{t('noPreview')}</p>
  return <CodeBlock text={text} lang={extensionOf(path)} />
}

type ChangesProps = { readonly file: Opened; readonly from: number | undefined; readonly to: number | undefined }

/** The changes of the turn before this version. */
function Changes({ file: { session, path }, from, to }: ChangesProps) {
  const query = new URLSearchParams({ path, ...(to !== undefined && { to: `${to}` }) })
  const found = useLoad(
    async () =>
      from === undefined
        ? { diff: '' }
        : get<{ readonly diff: string }>(`${pathOf`/api/sessions/${session}`}/checkpoints/${from}/diff?${query}`),
    `${path} ${from ?? ''} ${to ?? ''}`,
  )
  return <Panel of={found}>{({ diff }) => (diff ? <Diff text={diff} /> : <p class="note">{t('noChanges')}</p>)}</Panel>
}
