/** Shows a file of the workspace in a message: a picture, sound or film itself, any other file as a card. */

import { useEffect, useState } from 'preact/hooks'
import { Button, IconButton } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { download } from '../../../parts/download.ts'
import { useLoad } from '../../../parts/load.tsx'
import { addressOf } from '../../../parts/route.ts'
import { showBidi } from '../../../markdown/links.ts'
import { extensionOf, nameOf } from '../../../model/workspace-files.ts'
import { formatBytes } from '../../../words/format.ts'
import { t } from '../../../words/words.ts'
import { openArtifact } from '../artifact/opened.ts'
import { timeline } from '../store.ts'
import { loadFile, type LoadedFile, readFile } from './load-file.ts'

type Place = { readonly session: string; readonly path: string }
type Props = Place & { readonly text: string }

export function FileView({ session, path, text }: Props) {
  const { data, reload } = useLoad(() => loadFile(session, path), `${session}/${path}`)
  const ended = timeline.value.ended?.runId
  // An answer may name a file before a call has made it.
  useEffect(() => void (data?.kind === 'missing' && reload()), [ended])
  if (!data || data.kind === 'missing') return <span>{showBidi(text)}</span>
  if (data.kind === 'other') return <Card session={session} path={path} text={text} file={data} />
  return <Media session={session} path={path} text={text} file={data} />
}

type MediaProps = Props & { readonly file: Extract<LoadedFile, { readonly blob: Blob }> }

function Media({ session, path, text, file }: MediaProps) {
  const [url, setUrl] = useState('')
  useEffect(() => {
    const made = URL.createObjectURL(file.blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [file.blob])
  const name = text || nameOf(path)
  if (!url) return <span>{showBidi(name)}</span>
  if (file.kind === 'picture') return <ZoomPicture url={url} alt={name} file={{ session, path }} isLarge />
  return (
    <span class="media">
      {file.kind === 'sound' ? (
        <audio controls src={url} aria-label={name} />
      ) : (
        <video controls src={url} aria-label={name} />
      )}
      <Card session={session} path={path} text={text} file={{ kind: 'other', size: file.size }} />
    </span>
  )
}

type ZoomProps = {
  readonly url: string
  readonly alt: string
  readonly file?: Place
  readonly isLarge?: boolean
}

/** A picture that opens in the size of the window. */
export function ZoomPicture({ url, alt, file, isLarge = false }: ZoomProps) {
  const [isOpen, setOpen] = useState(false)
  const save = async () => download(file ? nameOf(file.path) : 'picture', await (await fetch(url)).blob())
  return (
    <span class="shot">
      <button type="button" aria-label={`${t('enlarge')}: ${alt}`} onClick={() => setOpen(true)}>
        <img class={isLarge ? undefined : 'thumb'} src={url} alt={alt} />
      </button>
      {isOpen && (
        <Dialog title={alt} onClose={() => setOpen(false)} isWide>
          <img src={url} alt={alt} />
          <span class="row end">
            {file && <Button onClick={() => openBeside(file, setOpen)}>{t('openBeside')}</Button>}
            {file && <OpenInFiles {...file} />}
            <IconButton icon="save" label={t('download')} onClick={save} />
            <IconButton icon="close" label={t('close')} onClick={() => setOpen(false)} />
          </span>
        </Dialog>
      )}
    </span>
  )
}

function openBeside(file: Place, setOpen: (isOpen: boolean) => void): void {
  setOpen(false)
  openArtifact(file)
}

const OpenInFiles = ({ session, path }: Place) => (
  <a href={addressOf('files', session, `file:${path}`)}>{t('openInFiles')}</a>
)

type CardProps = Props & { readonly file: Extract<LoadedFile, { readonly kind: 'other' }> }

function Card({ session, path, text, file: { size } }: CardProps) {
  const name = text || nameOf(path)
  const type = extensionOf(path).toUpperCase() || t('file')
  return (
    <span class="file">
      <button type="button" class="file-name" onClick={() => openArtifact({ session, path })} title={path}>
        <span class="clip" dir="auto">
          {showBidi(name)}
        </span>
        <span class="note">{`${type} · ${formatBytes(size)}`}</span>
      </button>
      <IconButton
        icon="save"
        label={`${t('download')}: ${nameOf(path)}`}
        onClick={async () => download(nameOf(path), await readFile(session, path))}
      />
    </span>
  )
}
