/** Lets a person see the whole address of a link before it is opened. */

import type { CheckedLink } from './links.ts'

type Confirm = (href: string) => Promise<boolean>
let confirm: Confirm = async () => false
/** The page shows the question in its dialog. */
export const confirmLinksBy = (ask: Confirm): void => void (confirm = ask)

export function openLink(event: Event, { href }: CheckedLink): void {
  event.preventDefault()
  const open = async () => {
    if (await confirm(href)) window.open(href, '_blank', 'noopener,noreferrer')
  }
  void open()
}
