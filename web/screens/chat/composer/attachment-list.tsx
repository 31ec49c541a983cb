/** The files that are attached to the message, and the button that attaches them. */

import { useRef } from 'preact/hooks'
import { IconButton } from '../../../parts/button.tsx'
import { t } from '../../../words/words.ts'
import { type Attached, detach, isUploading, listAttached } from '../attachments.ts'

export function AttachmentList({ session }: { readonly session: string }) {
  const list = listAttached(session)
  if (!list.length) return null
  return (
    <ul class="attachments">
      {list.map((one, at) => (
        <li key={`${one.name}-${at}`} class="chip">
          {one.type === 'image' ? <img src={one.url} alt={one.name} /> : <span>{one.name}</span>}
          {isUploading(one) && <Progress one={one} />}
          <IconButton icon="close" label={`${t('remove')}: ${one.name}`} onClick={() => detach(session, one)} />
        </li>
      ))}
    </ul>
  )
}

const Progress = ({ one }: { readonly one: Attached }) =>
  one.type === 'upload' ? <progress aria-label={t('uploading', { name: one.name })} value={one.share} /> : null

export function AttachButton({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={t('attach')}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])])
          event.currentTarget.value = ''
        }}
      />
      <IconButton icon="attach" label={t('attach')} onClick={() => input.current?.click()} />
    </>
  )
}
