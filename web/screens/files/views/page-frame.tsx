/**
 * Shows HTML as a page in a frame without an origin. Its own policy takes scripts and requests from it. Scripts run after
 * a click, apart from the page and without a network.
 */

import { useState } from 'preact/hooks'
import { api, path as pathOf } from '../../../api/client.ts'
import { hasScripts } from '../../../model/file-views.ts'
import { Button } from '../../../parts/button.tsx'
import { Panel, useLoad } from '../../../parts/load.tsx'
import { wordsOf } from '../../../words/words.ts'
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
          <span class="grow">{say('scriptsText')}</span>
          <Button onClick={() => setRunning(true)}>{say('runScripts')}</Button>
        </div>
      )}
      <Panel of={link}>
        {({ url }) => (
          <iframe
            key={url}
            class="page-frame"
            src={url}
            sandbox={isRunning ? 'allow-scripts allow-forms' : ''}
            title={say('previewOf', { name: path })}
          />
        )}
      </Panel>
    </>
  )
}

const { say } = wordsOf(
  {
    previewOf: 'Preview of {name}',
    scriptsText: 'This page has a script. It runs apart, without a network.',
    runScripts: 'Run it',
  },
  {
    previewOf: 'Vorschau von {name}',
    scriptsText: 'Diese Seite hat ein Skript. Es läuft abgetrennt und ohne Netz.',
    runScripts: 'Ausführen',
  },
)
