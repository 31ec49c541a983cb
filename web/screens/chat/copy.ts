/** Copies a text and says so. */

import { showDone } from '../../parts/toast.ts'
import { t } from '../../words/words.ts'

export async function copy(text: string): Promise<void> {
  await navigator.clipboard.writeText(text)
  showDone(t('copied'))
}
