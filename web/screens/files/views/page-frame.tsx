/**
 * Shows HTML as a page in a frame without an origin. Its own policy takes scripts and requests from it. Scripts run after
 * a click, apart from the page and without a network.
 */

import { useState } from 'preact/hooks'
import { api, path as pathOf } from '../../../api/client.ts'
import { hasScripts } from '../../../model/file-views.ts'
import { Button } from '../../../parts/button.tsx'
import { Panel, useLoad } from '../../../parts/load.tsx'
import { t } from '../../../words/words.ts'
import type { FilePlace } from '../file-content.ts'

type Props = { readonly place: FilePlace; readonly html: string }

export function PageFrame({ place: { session, path, checkpoint }, html }: Props) {
  const [isRunning, setRunning] = useState(false)
  const body = { path, scripts: isRunning, ...(checkpoint !== undefined && { checkpoint }) }
  const link = useLoad(
    () => api<{ readonly url: string }>('POST', pathOf`/api/sessions/${session}/previews`, { body }),
    `${JSON.stringify(body)} ${html}`,
  )
  return (
    <>
      {hasScripts(html) && !isRunning && (
        <div class="consent">
          <span class="grow">{t('scriptsText')}</span>
          <Button onClick={() => setRunning(true)}>{t('runScripts')}</Button>
        </div>
      )}
      <Panel of={link}>
        {({ url }) => (
          <iframe
            key={url}
            class="page-frame"
            src={url}
            sandbox={isRunning ? 'allow-scripts allow-forms' : ''}
            title={t('previewOf', { name: path })}
          />
        )}
      </Panel>
    </>
  )
}
