/** Shows a file of the open session in a message, once the code for it is loaded. */

import type { NamedFile } from '../../../markdown/file-view.tsx'
import { showBidi } from '../../../markdown/links.ts'
import { useLate } from '../../../parts/late.ts'
import { place } from '../../../parts/route.ts'

export function WorkspaceFile({ path, text }: NamedFile) {
  const { screen, id } = place.value
  const isHere = screen === 'chat' && id !== ''
  const View = useLate<NamedFile & { readonly session: string }>(
    async () => (await import('./file-view.tsx')).FileView,
    isHere,
  )
  return isHere && View ? <View session={id} path={path} text={text} /> : <>{showBidi(text)}</>
}

/** Pictures of our own API, and data. Others are named. */
export function MessagePicture({ url, name }: { readonly url: string; readonly name: string }) {
  const isOwn = url.startsWith('/api/') || url.startsWith('data:image/')
  const Zoom = useLate<{ readonly url: string; readonly alt: string }>(
    async () => (await import('./file-view.tsx')).ZoomPicture,
    isOwn,
  )
  if (!isOwn) return <span class="chip">{`🖼 ${URL.canParse(url) ? new URL(url).host : name}`}</span>
  return Zoom ? <Zoom url={url} alt={name} /> : <img class="thumb" src={url} alt={name} loading="lazy" />
}
