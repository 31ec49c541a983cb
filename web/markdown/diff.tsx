/** Draws a unified diff. Signs carry the meaning, and colours repeat it. */

import { readDiff } from '../model/diff.ts'
import { showBidi } from './links.ts'
import { t } from '../words/words.ts'

export const Diff = ({ text }: { readonly text: string }) => (
  <pre class="diff" tabIndex={0} aria-label={t('diff')} role="group">
    {readDiff(text).map(({ kind, text: line }, at) => (
      <span key={at} class={kind === 'file' ? 'diff-file' : kind}>
        {showBidi(line)}
        {'\n'}
      </span>
    ))}
  </pre>
)
