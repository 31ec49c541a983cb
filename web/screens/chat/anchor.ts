/** Keeps the place of the reader while elements above it come and go. */

export type Anchor = { readonly key: string; readonly top: number }

export const endPx = 40

export const isAtEnd = (list: HTMLElement): boolean => list.scrollHeight - list.scrollTop - list.clientHeight < endPx

/** The first element that is in view. */
export function findAnchor(list: HTMLElement): Anchor | undefined {
  const { top } = list.getBoundingClientRect()
  for (const element of list.querySelectorAll<HTMLElement>('[data-key]')) {
    const box = element.getBoundingClientRect()
    if (box.bottom > top) return { key: element.dataset['key'] ?? '', top: box.top - top }
  }
  return undefined
}

export function restoreAnchor(list: HTMLElement, { key, top }: Anchor): void {
  const element = list.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)
  if (!element) return
  const moved = element.getBoundingClientRect().top - list.getBoundingClientRect().top - top
  if (Math.abs(moved) >= 1) list.scrollTop += moved
}
