/** Shows a file as what it is. Text can be edited, without overwriting a newer version. */

import { useState } from 'preact/hooks'
import { api, ApiError, filePath, send } from '../../api/client.ts'
import { can, me } from '../../api/me.ts'
import { CodeBlock, hasColours } from '../../markdown/code-block.tsx'
import { extensionOf } from '../../model/workspace-files.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { download } from '../../parts/download.ts'
import { Panel, useLoad } from '../../parts/load.tsx'
import { goTo } from '../../parts/route.ts'
import { showDone, showError } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { type FileContent, FolderError, readContent } from './file-content.ts'
import { inOurWords } from './file-errors.ts'
import { isRendered, Rendered } from './views/rendered.tsx'

type Props = { readonly session: string; readonly path: string }

export function Preview({ session, path }: Props) {
  const file = useLoad(() => readContent({ session, path }).catch(openFolder).catch(inOurWords), path)
  function openFolder(error: unknown): never {
    if (error instanceof FolderError) goTo('files', session, `dir:${path}`)
    throw error
  }
  const remove = async () => {
    if ((await ask({ title: t('delete'), text: path, action: t('delete'), isDangerous: true })) === undefined) return
    await send('DELETE', filePath(session, path))
    goTo('files', session)
  }
  const move = async () => {
    const to = await ask({ title: t('newPath'), action: t('move'), field: path })
    if (!to?.trim() || to.trim() === path) return
    await api('POST', `${filePath(session, path)}/move`, { body: { to: to.trim() } })
    goTo('files', session, `file:${to.trim()}`)
  }
  return (
    <section class="preview list-of" aria-label={path}>
      <h2>{path}</h2>
      <Panel of={file}>
        {(data) => (
          <>
            <div class="row">
              <Button onClick={() => download(path.split('/').at(-1) ?? 'file', data.blob)}>{t('download')}</Button>
              {can('write') && <Button onClick={move}>{t('move')}</Button>}
              {can('write') && <Button onClick={remove}>{t('delete')}</Button>}
            </div>
            <Content file={data} session={session} path={path} onSaved={file.reload} />
          </>
        )}
      </Panel>
    </section>
  )
}

type ContentProps = Props & { readonly file: FileContent; readonly onSaved: () => Promise<void> }

/** A text that is more than its source can be looked at and edited. */
function Content({ file, session, path, onSaved }: ContentProps) {
  const code = isCode(file, path) ? file.text : undefined
  const hasView = isRendered(file, path) || code !== undefined
  const [isSource, setSource] = useState(!hasView || unsaved.has(keyOf(session, path)))
  if (file.text === undefined && !hasView) return <p class="note">{t('noPreview')}</p>
  return (
    <>
      {hasView && file.text !== undefined && (
        <div class="row views" role="group" aria-label={t('view')}>
          <button type="button" class="button" aria-pressed={!isSource} onClick={() => setSource(false)}>
            {t('shown')}
          </button>
          <button type="button" class="button" aria-pressed={isSource} onClick={() => setSource(true)}>
            {t('source')}
          </button>
        </div>
      )}
      {isSource ? (
        <Editor key={file.tag ?? file.text} file={file} session={session} path={path} onSaved={onSaved} />
      ) : code !== undefined ? (
        <CodeBlock text={code} lang={extensionOf(path)} />
      ) : (
        <Rendered key={file.tag} file={file} place={{ session, path }} />
      )}
    </>
  )
}

/** A new file is empty, and is written first. */
const isCode = (file: FileContent, path: string): boolean =>
  Boolean(file.text) && !isRendered(file, path) && hasColours(file.text ?? '', extensionOf(path))

/** Ctrl or ⌘ S. */
function onSaveKey(event: KeyboardEvent, save: () => Promise<void>): void {
  if (event.key !== 's' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
  event.preventDefault()
  if (can('write')) save().catch(showError)
}

/** Edits that were not saved, by person, session and path, so that looking at another file does not lose them. */
const unsaved = new Map<string, { readonly text: string; readonly tag: string | null }>()

const keyOf = (session: string, path: string): string => `${me.value?.key.id}/${session}/${path}`

addEventListener('beforeunload', (event) => {
  if (unsaved.size) event.preventDefault()
})

function Editor({ file, session, path, onSaved }: ContentProps) {
  const key = keyOf(session, path)
  const kept = unsaved.get(key)
  // The version that the edits began with decides whether saving them overwrites somebody else's.
  const [tag] = useState(kept ? kept.tag : file.tag)
  const [text, setText] = useState(kept?.text ?? file.text ?? '')
  const edit = (next: string) => {
    setText(next)
    if (next === file.text) unsaved.delete(key)
    else unsaved.set(key, { text: next, tag })
  }
  const save = async () => {
    try {
      const headers = tag ? { 'if-match': tag } : {}
      await send('PUT', filePath(session, path), { body: new Blob([text]), headers })
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412) throw error
      const overwrite = await ask({
        title: t('conflict'),
        text: t('conflictText'),
        action: t('overwrite'),
        isDangerous: true,
      })
      if (overwrite === undefined) return
      await send('PUT', filePath(session, path), { body: new Blob([text]) })
    }
    unsaved.delete(key)
    showDone(t('saved'))
    await onSaved()
  }
  return (
    <div class="form editor" onKeyDown={(event) => onSaveKey(event, save)}>
      <textarea
        aria-label={path}
        spellcheck={false}
        value={text}
        readOnly={!can('write')}
        onInput={(event) => edit(event.currentTarget.value)}
      />
      {can('write') && (
        <div class="row end">
          {text !== file.text && <span class="note">{t('unsaved')}</span>}
          <Button kind="main" onClick={save} disabled={text === file.text}>
            {t('save')}
          </Button>
        </div>
      )}
    </div>
  )
}
