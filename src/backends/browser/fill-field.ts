/**
 * Fills values of the vault into fields of a page. The page is asked for its exact origin in the same step that fills, so
 * that no navigation comes in between.
 */

import { BrowserProblem, callOn, type Element } from './element.ts'

/** `password`: goes into password fields alone, whose text nobody sees. */
export type FilledValue = { readonly value: string; readonly isPassword: boolean }

type Filled = { readonly problem?: string; readonly origin?: string }

/** Runs in the isolated world of the frame, where the page cannot replace what is read here. */
const fill = `function (allowed, value, isPassword) {
  const { location, origin } = this.ownerDocument?.defaultView ?? {}
  if (!location) return { problem: 'gone' }
  const shown = [location.origin, origin, ...location.ancestorOrigins]
  const strange = shown.find((one) => !allowed.includes(one))
  if (strange !== undefined) return { problem: 'origin', origin: strange }
  const form = this.form
  const { elements } = Object.getOwnPropertyDescriptors(HTMLFormElement.prototype)
  const attribute = (one, name) => Element.prototype.getAttribute.call(one, name)
  const targets = form ? [attribute(form, 'action'), ...[...elements.get.call(form)].map((one) => attribute(one, 'formaction'))] : []
  const away = targets.map((target) => target === null ? null : URL.parse(target, location.href)).find((url) => url && !allowed.includes(url.origin))
  if (away) return { problem: 'form', origin: away.origin }
  const { tagName: tag, type } = this
  if (this.disabled || this.readOnly) return { problem: 'disabled' }
  if (isPassword !== (tag === 'INPUT' && type === 'password')) return { problem: isPassword ? 'visible' : 'password' }
  this.style.setProperty('-webkit-text-security', 'disc', 'important')
  if (tag === 'SELECT') {
    const wanted = value.trim().toLowerCase()
    const option = [...this.options].find((one) => one.value.toLowerCase() === wanted || one.label.trim().toLowerCase() === wanted)
    if (!option) return { problem: 'option' }
    this.value = option.value
  } else if (tag === 'TEXTAREA' || (tag === 'INPUT' && ['text', 'email', 'tel', 'url', 'number', 'search', 'password'].includes(type))) {
    const prototype = tag === 'INPUT' ? HTMLInputElement.prototype : HTMLTextAreaElement.prototype
    this.focus()
    Object.getOwnPropertyDescriptor(prototype, 'value').set.call(this, value)
  } else return { problem: 'field' }
  this.dispatchEvent(new Event('input', { bubbles: true, composed: true }))
  this.dispatchEvent(new Event('change', { bubbles: true }))
  return {}
}`

const explanations: Readonly<Record<string, (origin: string) => string>> = {
  gone: () => 'The field is not there any more. Take a new browser_snapshot.',
  origin: (origin) =>
    `Nothing was filled in: the page, or a page around it, is ${origin}, for which the person has not stored this entry. Tell the user.`,
  form: (origin) =>
    `Nothing was filled in: the form is sent to ${origin}, for which the person has not stored this entry. Tell the user.`,
  disabled: () => 'The field is disabled. Something else has to happen first.',
  visible: () => 'A password is filled into password fields alone. If the page shows it as text, hide it first.',
  password: () => 'This is a password field: only a password is filled into it.',
  option: () => 'The list has no such option. Ask the user to choose it, with request_handoff.',
  field: () => 'The element is no text field. Choose another one.',
}

/** `allowed`: the origins that the page and all pages around it may have. */
export async function fillField(
  element: Element,
  { value, isPassword }: FilledValue,
  allowed: readonly string[],
): Promise<void> {
  const { problem, origin = '' } = await callOn<Filled>(element, fill, allowed, value, isPassword)
  if (problem !== undefined) throw new BrowserProblem(explanations[problem]?.(origin) ?? problem)
}

const hide = `function () { this.style?.setProperty('-webkit-text-security', 'disc', 'important') }`

/** Hides the text of a field from pictures of the page. */
export const hideField = (element: Element): Promise<void> => callOn<void>(element, hide)
