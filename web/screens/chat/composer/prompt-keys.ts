/** Alt and an arrow go from one message of the person to the next. The keys work in the field of the message, too. */

const steps: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowDown: 1 }

export function watchPromptKeys(): () => void {
  const onKey = (event: KeyboardEvent) => {
    const step = steps[event.key]
    if (step === undefined || !event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    if (isOtherField(event.target)) return
    event.preventDefault()
    goToPrompt(step)
  }
  addEventListener('keydown', onKey)
  return () => removeEventListener('keydown', onKey)
}

const isOtherField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, select, dialog, .pending textarea') !== null

/** Behind the last one is the field. Before the first one the list loads older ones. */
function goToPrompt(step: number): void {
  const list = document.querySelector<HTMLElement>('.list')
  const prompts = [...(list?.querySelectorAll<HTMLElement>('.block.user') ?? [])]
  const current = document.activeElement?.closest<HTMLElement>('.block.user')
  const next = (current ? prompts.indexOf(current) : prompts.length) + step
  const prompt = prompts[next]
  if (prompt) {
    prompt.tabIndex = -1
    prompt.focus({ preventScroll: true })
    prompt.scrollIntoView({ block: 'start' })
  } else if (step > 0) document.querySelector<HTMLElement>('.composer textarea')?.focus()
  else list?.scrollTo({ top: 0 })
}
