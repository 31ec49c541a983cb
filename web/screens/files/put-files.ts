/** Uploads and creates files, and asks before one is overwritten. */

import { ApiError, filePath, send } from '../../api/client.ts'
import { upload } from '../../api/upload.ts'
import { ask } from '../../parts/dialog.tsx'
import { t } from '../../words/words.ts'
import { inOurWords } from './file-errors.ts'

const maxUpload = 10_000_000

export type Sending = { readonly name: string; readonly share: number }
type Target = { readonly session: string; readonly folder: string }

/** Calls `onShare` with the file that is on its way, and without one at the end. */
export async function uploadFiles(
  { session, folder }: Target,
  files: readonly File[],
  onShare: (sending: Sending | undefined) => void,
): Promise<void> {
  for (const file of files) {
    const { name } = file
    if (file.size > maxUpload) throw new Error(t('tooLarge', { name, max: '10 MB' }))
    const path = folder ? `${folder}/${name}` : name
    const { signal } = new AbortController()
    await putNew(path, (headers) =>
      upload(filePath(session, path), { body: file, headers, signal, onShare: (share) => onShare({ name, share }) }),
    )
      .catch(inOurWords)
      .finally(() => onShare(undefined))
  }
}

export const createFile = (session: string, path: string): Promise<void> =>
  putNew(path, (headers) => send('PUT', filePath(session, path), { body: new Blob(['']), headers })).catch(inOurWords)

async function putNew(name: string, put: (headers: Readonly<Record<string, string>>) => Promise<unknown>) {
  try {
    await put({ 'if-none-match': '*' })
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 412) throw error
    const text = t('exists', { name })
    const answer = await ask({ title: t('overwrite'), text, action: t('overwrite'), isDangerous: true })
    if (answer !== undefined) await put({})
  }
}
