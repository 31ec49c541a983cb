/** Shows a file as text or as a picture, never as a page. Text can be edited, without overwriting a newer version. */

import { useEffect, useState } from 'preact/hooks'
import { api, ApiError, filePath, path as pathOf, send } from '../../api/client.ts'
import { can, me } from '../../api/me.ts'
import { findMime } from '../../model/picture-type.ts'
import { ask } from '../../parts/dialog.tsx'
import { Button } from '../../parts/button.tsx'
import { download } from '../../parts/download.ts'
import { Panel, useLoad } from '../../parts/load.tsx'
import { goTo } from '../../parts/route.ts'
import { showDone } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'
import { inOurWords } from './file-errors.ts'

type Props = { readonly session: string; readonly path: string }
type File = {
  readonly blob: Blob
  readonly tag: string | null
  readonly text: string | undefined
  readonly picture: string | undefined
}

const maxTextBytes = 500_000

async function load(session: string, path: string): Promise<File> {
  const response = await send('GET', filePath(session, path))
  const blob = await response.blob()
  const bytes = new Uint8Array(await blob.slice(0, 512).arrayBuffer())
  const picture = findMime(bytes, path)
  const isText = picture === undefined && !bytes.includes(0) && blob.size <= maxTextBytes
  return { blob, tag: response.headers.get('etag'), picture, text: isText ? await blob.text() : undefined }
}

export function Preview({ session, path }: Props) {
  const file = useLoad(() => load(session, path).catch(inOurWords), path)
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

type ContentProps = Props & { readonly file: File; readonly onSaved: () => Promise<void> }

function Content({ file, session, path, onSaved }: ContentProps) {
  if (file.picture !== undefined) return <Picture blob={file.blob} mime={file.picture} name={path} />
  if (file.text === undefined) return <p class="note">{t('noPreview')}</p>
  return (
    <>
      {/\.html?$/i.test(path) && <PagePreview key={file.tag} session={session} path={path} />}
      <Editor key={file.tag ?? file.text} file={file} session={session} path={path} onSaved={onSaved} />
    </>
  )
}

/** The page in the frame has neither scripts nor an origin: its own policy takes them. */
function PagePreview({ session, path }: Props) {
  const [url, setUrl] = useState('')
  const open = async () =>
    setUrl((await api<{ url: string }>('POST', pathOf`/api/sessions/${session}/previews`, { body: { path } })).url)
  if (!url)
    return (
      <div class="row">
        <Button onClick={open}>{t('preview')}</Button>
      </div>
    )
  return <iframe src={url} sandbox="" title={t('previewOf', { name: path })} />
}

/** Edits that were not saved, by person, session and path, so that looking at another file does not lose them. */
const unsaved = new Map<string, { readonly text: string; readonly tag: string | null }>()

addEventListener('beforeunload', (event) => {
  if (unsaved.size) event.preventDefault()
})

function Editor({ file, session, path, onSaved }: ContentProps) {
  const key = `${me.value?.key.id}/${session}/${path}`
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
    <div class="form">
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

/** An image element runs no script of an SVG. */
function Picture({ blob, mime, name }: { readonly blob: Blob; readonly mime: string; readonly name: string }) {
  const [url, setUrl] = useState('')
  useEffect(() => {
    const made = URL.createObjectURL(blob.slice(0, blob.size, mime))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return url ? <img src={url} alt={name} /> : null
}
