/** The button that reads an answer aloud. */

import { IconButton } from '../../parts/button.tsx'
import { t } from '../../words/words.ts'
import { canReadAloud, isReading, readAloud } from './read-aloud.ts'

export function ReadButton({ id, text }: { readonly id: string; readonly text: string }) {
  if (!canReadAloud) return null
  const isOn = isReading.value === id
  return (
    <IconButton
      icon={isOn ? 'stop' : 'sound'}
      label={t(isOn ? 'stopReading' : 'readAloud')}
      pressed={isOn}
      onClick={() => readAloud(id, text)}
    />
  )
}
