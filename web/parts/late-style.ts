/** Loads the style sheet of what is shown after the message field can be used. */

let loading: Promise<void> | undefined

/** Without a network the page goes on without it. */
export function loadLateStyle(): Promise<void> {
  loading ??= new Promise((resolve) => {
    const link = document.createElement('link')
    link.rel = 'stylesheet'
    link.href = document.querySelector<HTMLMetaElement>('meta[name="late-style"]')?.content ?? ''
    for (const name of ['load', 'error']) link.addEventListener(name, () => resolve())
    document.head.append(link)
  })
  return loading
}
