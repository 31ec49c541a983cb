/** Shows Markdown. Until its reader is loaded, the text stands as it was written. */

import { reader } from './late.ts'
import { showBidi } from './links.ts'

export function Markdown({ text }: { readonly text: string }) {
  const Reader = reader.value
  if (Reader) return <Reader text={text} />
  return (
    <p class="pre-line" dir="auto">
      {showBidi(text)}
    </p>
  )
}
