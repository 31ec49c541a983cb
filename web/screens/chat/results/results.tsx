/** Shows below an answer the media that its calls have made, and the files that its turn has changed. */

import { useState } from 'preact/hooks'
import type { ResultsBlock } from '../../../model/blocks.ts'
import { nameOf } from '../../../model/workspace-files.ts'
import { t } from '../../../words/words.ts'
import { WorkspaceFile } from './workspace-file.tsx'

export function Results({ block: { made, changed, count } }: { readonly block: ResultsBlock }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      {made.map(({ path, text }) => (
        <WorkspaceFile key={path} path={path} text={text || nameOf(path)} />
      ))}
      {count > 0 && (
        <details class="changed" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{count === 1 ? t('oneFile') : t('fileCount', { count })}</summary>
          {isOpen && (
            <ul>
              {changed.map((path) => (
                <li key={path}>
                  <WorkspaceFile path={path} text={path} />
                </li>
              ))}
            </ul>
          )}
        </details>
      )}
    </>
  )
}
