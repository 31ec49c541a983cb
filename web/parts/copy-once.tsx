/** Shows a secret that cannot be read again, with a button that copies it. */

import { t } from '../words/words.ts'
import { Button } from './button.tsx'
import { showDone } from './toast.ts'

type Props = { readonly label: string; readonly value: string }

export const CopyOnce = ({ label, value }: Props) => (
  <div class="card row waiting" role="status">
    <p class="grow">
      {label} <code class="code-once">{value}</code>
    </p>
    <Button kind="main" onClick={() => copyText(value)} label={`${t('copy')}: ${label}`}>
      {t('copy')}
    </Button>
  </div>
)

export async function copyText(text: string): Promise<void> {
  await navigator.clipboard.writeText(text)
  showDone(t('copied'))
}
